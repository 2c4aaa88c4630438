"""Transformers by name or by shape, and every parameter tensor they have."""
