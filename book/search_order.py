"""MkDocs hook: what a search shows first. Acts and chapter before reference; no page that gives answers away."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

BOOSTS = {
    "chapter/glossary": 1.0,
    "lab/act": 8.0,
    "lab/": 4.0,
    "chapter/": 4.0,
    "missions/": 1.5,
    "measured/": 0.7,
    "notebooks/": 0.5,
    "index": 1.0,
    "engine/": 0.5,
    "claims/": 0.4,
    "authoring/": 0.3,
    "reference/": 0.1,
}
"""Beginning of a page's address -> how much a match in it counts. The first that fits is taken."""
SPOILERS = ("lab/instructor.md", "lab/act1-notes.md")
"""Pages that state the acts' answers: a search would show them beside the question."""


def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Say in the page's own settings how the search is to treat it; what its author has set stays."""
    address = page.file.src_uri
    settings = {"boost": next((boost for start, boost in BOOSTS.items() if address.startswith(start)), 1.0)}
    if address in SPOILERS:
        settings["exclude"] = True
    page.meta["search"] = settings | dict(page.meta.get("search") or {})
