"""The options of the part `figures`."""

from __future__ import annotations

from dataclasses import dataclass

MOVING = "assets/book/figures"
"""Where the states of moving figures are, under the site's root."""


@dataclass(frozen=True)
class FiguresOptions:
    """Options of what a chapter numbers. Paths are relative to the docs folder unless something else is said.

    enabled: without it, pages keep the syntax as it is written.
    chapter: the folder of the pages that are numbered and checked; other pages are left as they are.
    bibliography: the BibTeX file.
    glossary: the page whose definition list defines the terms.
    figures: the folder of the figures, one Python file each.
    engine: the library, by name or as a folder relative to the book's; by default the book's. A change in it redraws
        the figures.
    cache: whether drawn figures are kept between builds.
    cache_dir: where they are kept, relative to the book's folder.
    """

    enabled: bool = True
    chapter: str = "chapter"
    bibliography: str = "chapter/references.bib"
    glossary: str = "chapter/glossary.md"
    figures: str = "chapter/figures"
    engine: str = ""
    cache: bool = True
    cache_dir: str = ".cache/book"
