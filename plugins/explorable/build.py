"""A build of a book, as any host of it goes through: its options read, its parts told of one step after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from explorable import book
from explorable.book import Book
from explorable.built_from import Pages, Sources
from explorable.figures.contents import Chapter
from explorable.figures.part import FiguresPart
from explorable.finish import budgets, finish, publish, releases
from explorable.live.build.assets import Release
from explorable.live.build.library_imports import unreadable
from explorable.live.options import LiveOptions
from explorable.live.part import LivePart
from explorable.manifest import FILE, Manifest, PageFacts
from explorable.options import PARTS, Options, book_of
from explorable.shared import intake, typed
from explorable.shared.apart import Elements, ElementsApart
from explorable.shared.cache import write_atomically
from explorable.shared.errors import UnbuildableError
from explorable.shared.locate import LocateExtension, source_path
from explorable.shared.log import logger
from explorable.site import Asset, Offer, Page, Part, Site

COLORS = "assets/live/colors.css"

hosts, strict = logger("hosts"), logger("strict")


@dataclass
class Builds:
    """What lasts from one build of a book to the next, where a server builds it for its author alone."""

    serving: bool = False
    again: bool = False
    begun: float = 0.0
    decoded: intake.Decoded = field(default_factory=intake.Decoded)
    pages: Pages = field(default_factory=Pages)
    named: tuple[str, ...] = ()


class Build:
    """What all hosts do with the parts. Every step raises `UnbuildableError` where the book cannot be built.

    Args:
        given: the options as the configuration has them.
        root: the book's folder, which is that of the configuration.
    """

    def __init__(self, given: Mapping[str, Any], root: Path) -> None:
        self.root = root
        self.parts: dict[str, Part] = {}
        self.options: dict[str, Any] = {}
        self._elements = Elements()
        self.given: Options = _told("explorable", Options, given)
        for name in self.given.parts:
            kind, part = PARTS[name]
            options = _told(name, kind, self.given.of(name))
            if options.enabled:
                self.parts[name], self.options[name] = part(options), options

    def use_book(self) -> Book:
        """Let this process build this book."""
        try:
            self.book = book_of(self.given, self.root)
        except LookupError as error:
            raise UnbuildableError(f"explorable: {error}") from None
        book.use(self.book)
        # Else each number, snippet and act that uses it would tell of it, at a place of its own.
        if fault := unreadable(self.root):
            raise UnbuildableError(str(fault))
        return self.book

    def begin(
        self, about: Manifest, docs: Path, theme: Path | None = None, builds: Builds | None = None
    ) -> Iterator[Offer]:
        """Begin: what each part, and the book itself, adds to the site. The first extension knows all lines.

        Args:
            about: what the configuration says of the site: its names, its description, its address.
            docs: the folder of the book's sources.
            theme: the folder of its own theme; None for a book without one. A symbolic link in it is told.
            builds: what lasts; by default this build is the only one.

        Raises:
            UnbuildableError: A symbolic link leads from a folder of sources out of the book's, or a file beside the
                pages is not UTF-8, among others.
        """
        self._about, self._builds = about, builds or Builds()
        serving, again = self._builds.serving, self._builds.again
        self._folders = [intake.as_named(folder) for folder in (docs, theme) if folder]
        for folder in self._folders:
            if defect := intake.led_out(folder, intake.as_named(self.root)):
                raise UnbuildableError(str(defect))
        own = self.use_book()
        located = LocateExtension(self.root)
        if apart := own.made_apart():
            self._elements = located.elements = ElementsApart(apart, self.root)
        self.site = Site(self.root, docs, located, about.address, serving, again, self._builds.begun)
        self._builds.begun = time.time()
        self._links, self._entered = set[Path](), set[str]()
        # A template is no file of the site, but a page may be made of it.
        for link in intake.links(self._folders[1]) if theme else ():
            self._tell(link)
        self._colors = bool(own.colors and not own.styles)
        read = [path for block in apart.values() for path in block.reads]
        yield Offer([located], styles=[COLORS] * self._colors, watched=read)
        for part in self.parts.values():
            yield part.begin(self.site)
        for extension in own.extensions:
            located.known |= extension.constructs
            yield Offer([extension])
        self._builds.decoded.check(docs, self.root, changed=serving)

    def publishes(self, source: str, path: Path | None) -> bool:
        """Whether a file of the docs folder, or of the book's theme, may be part of the site.

        What acts are made of is not, and what a symbolic link leads to is no file of the book: that is said, once.
        """
        at = path and intake.as_named(path)
        link = next(filter(None, (intake.link_to(at, folder) for folder in self._folders)), None) if at else None
        if link:
            self._tell(link)
        return not link and ("live" not in self.parts or not source.startswith(f"{self.given.acts}/"))

    def _tell(self, link: Path) -> None:
        if link not in self._links:
            strict.warning("%s", intake.followed(link, self.root))
            self._links.add(link)

    def makes(self, source: str) -> bool:
        """Whether a part makes a page of a file of the docs folder that is no Markdown."""
        return any(part.makes(source) for part in self.parts.values())

    def text(self, page: Page) -> str:
        """The Markdown of such a page."""
        return next(part for part in self.parts.values() if part.makes(page.source)).text(page)

    def undecodable(self, path: Path | None) -> str:
        """What is wrong with a page that is not UTF-8, which is said too; "" for every other."""
        bad = path and intake.undecodable(path, self.root)
        if bad:
            strict.warning("%s", bad)
        return str(bad or "")

    def files(self, pages: Sequence[Page]) -> list[Asset]:
        """What the site needs besides its pages."""
        self._pages = pages
        self._elements.begin(page.written for page in pages)
        colors = [Asset(COLORS, self.book.tokens().encode())] * self._colors
        return [*(asset for part in self.parts.values() for asset in part.files(pages)), *colors]

    def number(self, pages: Sequence[Page]) -> Sequence[Chapter]:
        """Number what the pages of the navigation show, in its order. Returns the numbered ones."""
        figures = self.parts.get("figures")
        return figures.number(pages) if isinstance(figures, FiguresPart) else ()

    def enter(self, page: Page, markdown: str) -> tuple[str, bool]:
        """Check a page, and tell the parts that it comes next.

        Returns its text without what would end the build, and whether its front matter can be read.
        """
        readable = True
        if page.source.endswith(".md") and page.path:
            markdown, defects = intake.checked(markdown, page, self.site)
            readable = not any(intake.unread(defect) for defect in defects)
            for defect in defects:
                strict.warning("%s", defect)
        self.site.located.enter(page, markdown)
        self._entered.add(self.site.located.file)
        for part in self.parts.values():
            part.enter(page)
        return markdown, readable

    def made(self) -> list[Asset]:
        """What the pages turned out to need: all of them are converted."""
        return [asset for part in self.parts.values() for asset in part.made()]

    def end(self) -> None:
        """Leave no process behind."""
        self._elements.close()
        for part in self.parts.values():
            part.end()

    def manifest(self, pages: Mapping[str, PageFacts], scripts: Sequence[str]) -> Manifest:
        """The manifest of the site, of which its host knows the pages, by their files, and the programs they load."""
        release = self._release()
        return replace(
            self._about,
            root=str(self.root),
            docs=source_path(self.site.docs, self.root),
            theme=source_path(self._folders[1], self.root) if len(self._folders) > 1 else "",
            pages=pages,
            scripts=scripts,
            release=release.facts if release else None,
            book=self.given.book or self.book.plain(),
        )

    def finish(self, site: Path, pages: Mapping[str, PageFacts], scripts: Sequence[str]) -> None:
        """Publish what the pages turned out to need, leave the manifest, and finish the folder of the site.

        A server's pages are weighed where they are made: the whole site is weighed where it is built.
        """
        publish(site, self.made())
        manifest = self.manifest(pages, scripts)
        file = self.root / FILE
        try:
            write_atomically(file, manifest.text().encode())
        except OSError as error:  # It is for whoever finishes the site once more.
            hosts.info("the manifest '%s' cannot be written: %s", file, error.strerror or error)
        weighed = self._entered if self.site.serving else ()
        for made, facts in pages.items():
            if facts.source in weighed and (site / made).is_file():
                budgets.weigh_page(facts.source, (site / made).read_text(encoding="utf-8"))
        if self.site.serving and (release := self._release()):
            kept = (site / made for made, facts in pages.items() if facts.source not in self._entered)
            releases.carry(kept, self._builds.named, release.named)
            self._builds.named = release.named
        finish(site, self.book, manifest, serving=self.site.serving)
        self._builds.pages.built()
        self._builds.again = True

    def _release(self) -> Release | None:
        """The programs of its pages; None for a book without live parts."""
        live = self.parts.get("live")
        return live.release if isinstance(live, LivePart) else None

    def date(self, config: Path, watched: Sequence[str], themes: Sequence[str], made: Mapping[str, Path]) -> None:
        """Date the HTML that was `made` of pages, for a server that builds a page again where its file is newer."""
        own = [folder for folder in map(Path, themes) if folder.is_relative_to(self.root)]
        options = self.options.get("live"), self.options.get("figures")
        sources = Sources(config, self.site.docs, [Path(path) for path in dict.fromkeys(watched)], own, *options)
        self._builds.pages.date(sources, {page.source: page.written for page in self._pages}, made)

    def acts(self) -> LiveOptions:
        """The options of its acts."""
        given: LiveOptions = self.options.get("live", LiveOptions())
        return given


def _told(name: str, kind: type[Any], given: Mapping[str, Any]) -> Any:
    """Options, of a part or of all. Raises `UnbuildableError` that names it."""
    try:
        return typed.made(kind, dict(given))
    except (UnbuildableError, ValueError) as error:
        raise UnbuildableError(f"{name}: {error}") from None
