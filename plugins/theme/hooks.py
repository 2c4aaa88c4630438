"""MkDocs hooks of the theme: formulas know their page, for messages, and pages get their content security policy."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from plugins.theme.policy import with_policy

_serves = False


def on_startup(*, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:
    """Note whether this is `mkdocs serve`, which adds a script of its own to pages that have their policy already."""
    global _serves
    _serves = command == "serve"


def on_post_page(output: str, /, *, page: Page, config: MkDocsConfig) -> str:
    """Give a page its policy."""
    return _governed(output, config)


def on_post_template(output: str, /, *, template_name: str, config: MkDocsConfig) -> str:
    """Give the page for addresses that do not exist its policy."""
    return _governed(output, config) if template_name.endswith(".html") else output


def _governed(html: str, config: MkDocsConfig) -> str:
    release = config.extra.get("release", {})
    return html if _serves else with_policy(html, release.get("hosts", ()))


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
