"""Notebooks as pages: mkdocs-jupyter executes them, and the site's own Markdown shows them."""
