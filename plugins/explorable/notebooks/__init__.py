"""Notebooks as pages: executed beside the build, shown by the site's own Markdown, and published for download."""
