"""MkDocs hook of the theme: tell the formula extension which page it is converting."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page


def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Name the page, so that a broken formula is reported with file and line.

    MkDocs makes one Markdown converter per page from `mdx_configs`, which is how an extension learns of its page.
    """
    options = {"page": page.file.src_uri, "text": markdown}
    if page.file.abs_src_path is not None:
        path = Path(page.file.abs_src_path)
        root = Path(config.config_file_path).parent if config.config_file_path else Path.cwd()
        options = {
            "page": path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix(),
            # The file itself, not what other plugins made of it: its lines are the author's lines.
            "text": path.read_text(encoding="utf-8-sig"),
        }
    config.mdx_configs["plugins.theme.mathml"] = options
