"""Explorable explanations for MkDocs: live snippets, interactive acts, and numbers with their origin."""

__version__ = "0.1.0"
