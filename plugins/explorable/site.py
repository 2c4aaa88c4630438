"""A book's site as the parts of the toolkit see it, whichever program builds it, and what each part gives to it.

A host (`explorable.hosts`) says what the site and its pages are, and calls the parts: `begin` once for a build, then
`files` when all sources are known, `text` and `enter` before each page is converted by Markdown, `made` when all pages
are, and `end`, also when the build fails.
"""

from __future__ import annotations

import posixpath
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markdown.extensions import Extension

from explorable.shared.cache import files_in

if TYPE_CHECKING:
    from explorable.shared.locate import LocateExtension


@dataclass(frozen=True)
class Asset:
    """A site file: where it goes, and either its content or the file it is a copy of."""

    uri: str
    content: bytes | Path


@dataclass(frozen=True)
class Page:
    """A page of the site.

    source: its file, relative to the docs folder.
    path: that file; None for a page that was made.
    url: its address below the site's root; "" for the root itself.
    written: the text of its file, front matter included.
    title: as its front matter has it, "" where that does not say it.
    report: where a reader says that a number on it is wrong; "" for a site that names no repository.
    """

    source: str
    path: Path | None
    url: str
    written: str
    title: str = ""
    report: str = ""

    def to(self, uri: str) -> str:
        """The address of a site file, relative to the page."""
        return posixpath.relpath(uri, posixpath.dirname(self.url) or ".")


@dataclass(frozen=True)
class Site:
    """A site that is built.

    root: the book's folder. docs: that of its sources. address: where it will stand; "" if nobody says.
    located: knows on which line of which source file something stands; every part's messages come from it.
    serving: whether a server builds it, again and again. again: whether it did so before, and since when, in seconds
        since 1970.
    """

    root: Path
    docs: Path
    located: LocateExtension
    address: str = ""
    serving: bool = False
    again: bool = False
    since: float = 0.0

    def edited(self, *folders: Path | None) -> bool:
        """Whether a file of some folders is newer than the last build: a child process will be needed for it."""
        found = (file for folder in folders if folder for file in files_in(folder))
        return self.again and any(file.stat().st_mtime > self.since for file in found)

    def computes_all(self, *folders: Path | None) -> bool:
        """Whether all is computed anew that is computed with what these hold.

        Otherwise a server makes few pages again, and asks for what they show alone.
        """
        return not self.again or self.edited(*folders)


@dataclass(frozen=True)
class Offer:
    """What a part adds to a site.

    extensions: to Markdown.
    styles: addresses of style sheets. modules, scripts: of programs, as modules, or run when the page is read.
    watched: files and folders from which pages are made.
    extra: values for templates.
    """

    extensions: Sequence[Extension] = ()
    styles: Sequence[str] = ()
    modules: Sequence[str] = ()
    scripts: Sequence[str] = ()
    watched: Sequence[Path | None] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


class Part(ABC):
    """A part of the toolkit: live snippets and acts, numbers with their origin, a chapter's numbers, or notebooks."""

    @abstractmethod
    def begin(self, site: Site) -> Offer:
        """Begin a build; a server does so before each. Raises `UnbuildableError`."""

    def makes(self, source: str) -> bool:
        """Whether it makes a page of a file, given relative to the docs folder, that is no Markdown."""
        return False

    def text(self, page: Page) -> str:
        """The Markdown of a page that it makes."""
        raise NotImplementedError

    @abstractmethod
    def files(self, pages: Sequence[Page]) -> Sequence[Asset]:
        """What the site needs besides its pages, whose texts are known now."""

    def enter(self, page: Page) -> None:  # noqa: B027 - some need not know
        """Say which page is converted next."""

    def made(self) -> Sequence[Asset]:
        """What the pages turned out to need: all of them are converted."""
        return ()

    @abstractmethod
    def end(self) -> None:
        """Leave no process behind."""
