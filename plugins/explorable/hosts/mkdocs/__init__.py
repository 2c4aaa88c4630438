"""The adapter for MkDocs, and for ProperDocs, which reads the same configuration and calls the same events."""
