"""The part `figures`: numbers figures, tables and equations, explains terms, cites works, checks typed numbers."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from pathlib import Path

from explorable.book import library_of
from explorable.figures import glossary
from explorable.figures.bibliography import Work, load
from explorable.figures.contents import Chapter, chapters
from explorable.figures.extension import CONSTRUCTS, PICTURES, Book, BookExtension
from explorable.figures.figures import STORY, Figures
from explorable.figures.labels import Labels
from explorable.figures.options import MOVING, FiguresOptions
from explorable.shared.cache import Cache, digest
from explorable.shared.errors import Defect, LineError
from explorable.shared.locate import LocateExtension, source_path
from explorable.shared.log import logger
from explorable.shared.scan import scan
from explorable.site import Asset, Offer, Page, Part, Site

log = logger("book")

STYLESHEET = "assets/book/book.css"


def asked_for(text: str) -> list[str]:
    """What a page with this text asks of a book's `Figures`, in that order: a strip stands at its end."""
    page = scan(text)
    return [*page.named(*PICTURES), *([STORY] if page.named("strip") else [])]


class FiguresPart(Part):
    """Numbered figures, tables and equations, citations, a glossary, and a check of typed numbers."""

    def __init__(self, options: FiguresOptions) -> None:
        self.options = options
        self._book: Book | None = None

    def begin(self, site: Site) -> Offer:
        """Read the bibliography, and prepare to draw."""
        options, root = self.options, site.root
        cache = root / options.cache_dir
        engine = library_of("figures", options.engine, root)
        drawings = Cache(cache / "figures" if options.cache else None)
        figures = Figures(site.docs / options.figures, engine, drawings, cache / "bytecode")
        if site.edited(figures.folder):
            figures.start()
        self._located: LocateExtension = site.located
        self._located.known |= CONSTRUCTS
        # The states of moving figures by their address, under the site's root.
        self._states: dict[str, str] = {}
        self._docs = source_path(site.docs, root)
        book = Book(figures, self._works(site.docs / options.bibliography), options.figures)
        book.publish, book.report = self._publish, self._report
        book.complain = lambda defect: log.warning("%s", defect)
        self._book = book
        return Offer([BookExtension(book)], styles=[STYLESHEET], watched=[engine])

    def files(self, pages: Sequence[Page]) -> Sequence[Asset]:
        """The style sheet; read the glossary, and begin to draw what pages show."""
        assert self._book is not None
        self._book.figures.begin(name for page in pages for name in asked_for(page.written))
        terms = next((page.written for page in pages if page.source == self.options.glossary), "")
        self._book.terms = glossary.definitions(terms)
        return [Asset(STYLESHEET, Path(__file__).with_name("book.css"))]

    def number(self, pages: Sequence[Page]) -> Sequence[Chapter]:
        """Number what the chapter shows, whose `pages` are in reading order. Returns its numbered pages."""
        assert self._book is not None
        texts = [(page.source, page.written) for page in pages if self._numbers(page.source)]
        self._book.labels = Labels.of(texts)
        self._book.chapters = chapters(texts)
        for name, second, first in self._book.labels.doubles:
            what = f"'{name}' is already the name of {first.title} in {first.page}:{first.line}"
            path = posixpath.join(self._docs, second.page)
            log.warning("%s", Defect(path, second.line, what, "give it another name"))
        return self._book.chapters

    def enter(self, page: Page) -> None:
        """Tell the extension which page comes next, and whether its numbers are checked and its terms explained."""
        assert self._book is not None
        self._page = page
        self._book.page = page.source
        self._book.checks = self._serves(page.source)
        self._book.explains = self._book.checks and page.source != self.options.glossary

    def made(self) -> Sequence[Asset]:
        """The states of the moving figures."""
        return [Asset(uri, content.encode()) for uri, content in self._states.items()]

    def end(self) -> None:
        """End the child process."""
        if self._book is not None:
            self._book.figures.close()

    def _serves(self, page: str) -> bool:
        """Whether a page belongs to the chapter."""
        return page.startswith(f"{self.options.chapter}/")

    def _numbers(self, page: str) -> bool:
        """Whether a page of the chapter has a number: its contents, its glossary and its cheat sheet have none."""
        unnumbered = {f"{self.options.chapter}/{name}.md" for name in ("index", "cheat-sheet")}
        return self._serves(page) and page not in unnumbered | {self.options.glossary}

    def _publish(self, name: str, states: str) -> str:
        uri = f"{MOVING}/{name}-{digest(states)[:12]}.json"
        self._states[uri] = states
        return self._page.to(uri)

    def _works(self, path: Path) -> dict[str, Work] | None:
        if not path.is_file():
            return {}
        try:
            return load(path)
        except LineError as error:
            log.warning("%s", Defect(source_path(path, self._located.root), error.line, str(error)))
            return None

    def _report(self, line: int | None, what: str, fix: str) -> None:
        """A mistake of an author: a warning, which fails the strict build."""
        log.warning("%s", self._located.defect(line, what, fix))
