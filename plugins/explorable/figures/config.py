"""The options of the plugin in `mkdocs.yml`."""

from __future__ import annotations

from mkdocs.config import config_options as c
from mkdocs.config.base import Config


class BookConfig(Config):  # type: ignore[no-untyped-call]
    """Options of the plugin `book`. Paths are relative to the docs folder unless something else is said.

    enabled: without it, pages keep the syntax as it is written.
    chapter: the folder of the pages that the plugin serves; other pages are left as they are.
    bibliography: the BibTeX file.
    glossary: the page whose definition list defines the terms.
    figures: the folder of the figures, one Python file each.
    engine: the library, by name or as a folder relative to `mkdocs.yml`; by default the book's. A change in it redraws
        the figures.
    cache: whether drawn figures are kept between builds.
    cache_dir: where they are kept, relative to `mkdocs.yml`.
    """

    enabled = c.Type(bool, default=True)
    chapter = c.Type(str, default="chapter")
    bibliography = c.Type(str, default="chapter/references.bib")
    glossary = c.Type(str, default="chapter/glossary.md")
    figures = c.Type(str, default="chapter/figures")
    engine = c.Type(str, default="")
    cache = c.Type(bool, default=True)
    cache_dir = c.Type(str, default=".cache/book")
