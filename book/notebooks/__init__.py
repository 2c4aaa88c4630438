"""Notebooks as pages: executed beside the build, and shown by the site's own Markdown."""
