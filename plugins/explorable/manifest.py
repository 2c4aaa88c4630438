"""What a host knows of the site that it has built, and `finish` has to know; kept as JSON for `explorable finish`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from explorable.shared import typed
from explorable.shared.sums import digest

CACHE = ".cache/explorable"
"""Where a build leaves what the next step takes, below the book's folder."""
FILE = f"{CACHE}/manifest.json"
"""Where the last build left it, below the book's folder."""


@dataclass(frozen=True)
class PageFacts:
    """What the host knows of a page.

    source: its file, relative to the book's folder; it may be absent, for a page that was made.
    title: as the navigation has it. section: the outermost section of the navigation that holds it, "" at the top.
    """

    source: str
    title: str = ""
    section: str = ""


@dataclass(frozen=True)
class ReleaseFacts:
    """What is known of a release of the programs.

    version: what readers and exports call it. build: differs whenever a program does.
    packages: the distributions that every start loads. later: the modules that come when they are first imported.
    started: the programs that every page loads, with what they import at once.
    folders: of other hosts, where packages lie that the site does not have and that readers may agree to fetch.
    """

    version: str
    build: str
    packages: Sequence[str]
    later: Sequence[str]
    started: Sequence[str]
    folders: Sequence[str]


@dataclass(frozen=True)
class PreparedPage:
    """A page as `explorable prepare` has converted it.

    text: a hash of the text of its source, front matter left out. html: its content. contents: the entries of its table
    of contents, as the extension `toc` has them. file: where its generator puts it, below the site.
    """

    text: str
    html: str
    contents: Sequence[Mapping[str, Any]]
    file: str

    @property
    def mark(self) -> str:
        """A comment at the end of its content, by which `finish` knows that the site has this state of the page."""
        return f"<!-- explorable {digest(self.html)[:16]} -->"


@dataclass(frozen=True)
class Prepared:
    """What `explorable prepare` leaves to a generator that runs no program of ours, and to `explorable finish`.

    pages: source below the docs folder -> the page, for those that hold a construct.
    fences, blocks, roles: the names of all constructs.
    files: the folder, below the book's, of what the site needs besides its pages.
    styles, modules, scripts: what each page loads, from the site's root.
    unpublished: the folders of sources that are no part of the site.
    """

    pages: Mapping[str, PreparedPage]
    fences: Sequence[str]
    blocks: Sequence[str]
    roles: Sequence[str]
    files: str
    styles: Sequence[str]
    modules: Sequence[str]
    scripts: Sequence[str]
    unpublished: Sequence[str]


@dataclass(frozen=True)
class Manifest:
    """A built site, as its host knows it.

    root: the book's folder, absolute. docs: the folder of its sources, relative to it.
    theme: the folder of the book's own theme, likewise; "" for a book without one.
    name, short_name, description, address: the site's, as its configuration has them; "" for what is not said.
    pages: file below the site -> what is known of the page.
    scripts: the site's own programs, from its root, which pages may load.
    release: the programs that make pages live; None for a site without them.
    book: the module that says which book it is, or its data as JSON.
    prepared: for a site whose generator runs no program of ours; None for others.
    """

    root: str = ""
    docs: str = "docs"
    name: str = ""
    short_name: str = ""
    description: str = ""
    address: str = ""
    pages: Mapping[str, PageFacts] = field(default_factory=dict)
    scripts: Sequence[str] = ()
    release: ReleaseFacts | None = None
    book: str = ""
    prepared: Prepared | None = None
    theme: str = ""

    def text(self) -> str:
        """The manifest as JSON."""
        return json.dumps(asdict(self), indent=1)

    def source(self, page: str) -> tuple[str, str]:
        """How messages name a page of the site, and the text of its source file, "" without one."""
        name = self.pages[page].source if page in self.pages else page
        file = Path(self.root, name)
        return name, file.read_text(encoding="utf-8-sig", errors="replace") if file.is_file() else ""

    def beside(self, file: str) -> str:
        """The source of a file that was copied into the site, relative to the book's folder; "" if it was made.

        A file of the docs folder comes before one of the theme. What stands in the theme as HTML is no file that is
        copied: it is a template, of which a page is made.
        """
        names = [f"{self.docs}/{file}"]
        if self.theme and not file.endswith(".html"):
            names.append(f"{self.theme}/{file}")
        return next((name for name in names if Path(self.root, name).is_file()), "")


def read(text: str) -> Manifest:
    """What `text` has written. Raises `ValueError` for anything else, and for files that lie outside of the cache."""
    try:
        found: Manifest = typed.read(Manifest, text)
    except ValueError as error:
        raise ValueError(f"this is no manifest: {error}") from None
    files = PurePosixPath(found.prepared.files if found.prepared else CACHE)
    if ".." in files.parts or not files.is_relative_to(CACHE):
        raise ValueError(f"prepared.files is '{files}'; it must be a folder in {CACHE}")
    return found
