"""What `explorable` must know of a book: one small protocol, which each book fills in its own way.

A book says most of it in `mkdocs.yml`. What is program, such as how its records are read, it says in a module that
holds a `Book` called `BOOK`. A build is of one book, so there is one at a time in a process: `use` sets it, `current`
gives it, and child processes inherit its data.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from xml.etree.ElementTree import Element

from explorable.shared import typed
from explorable.shared.errors import UnbuildableError, in_a_line

if TYPE_CHECKING:
    from pint import Quantity

    from explorable.manifest import Manifest
    from explorable.measured.ceilings.card import Card

PLAIN = "EXPLORABLE_BOOK"
"""The environment variable by which child processes learn of the book's data."""


class Reader(Protocol):
    """How a book's records are read: JSON files `<suite>/<case>--<device>.json` below one folder."""

    def __hash__(self) -> int:
        """One reader is told from another: what it read is kept."""

    @property
    def plan(self) -> Mapping[str, Sequence[str]]:
        """Suite -> its cases: what can be measured."""

    @property
    def measured(self) -> Collection[str]:
        """The states of a record that holds measurements."""

    @property
    def schema_file(self) -> Path | None:
        """The JSON Schema of a record, which states the `unit` of every number; None for a book without records."""

    def schema(self) -> Mapping[str, Any]:
        """The same, parsed."""

    def checked(self, text: bytes, place: str) -> tuple[Mapping[str, Any] | None, Sequence[str]]:
        """The record in a file, or None and its faults, one line each; `place` is the path below the folder."""

    def command(self, suite: str, case: str = "") -> str:
        """The command that measures a suite, or one of its cases."""

    def tables(self, documents: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
        """All numbers of a suite as flat files for download: `csv`, `json` -> content."""


@dataclass(frozen=True, eq=False)
class NoRecords:
    """The reader of a book that measures nothing."""

    plan: Mapping[str, Sequence[str]] = field(default_factory=dict)
    measured: Collection[str] = ("ok",)
    schema_file: Path | None = None

    def schema(self) -> Mapping[str, Any]:
        """No field is described."""
        return {}

    def checked(self, text: bytes, place: str) -> tuple[None, Sequence[str]]:
        """No file is a record."""
        return None, (f"{place}: the book says nothing of its records; give numbers: {{schema: …}}",)

    def command(self, suite: str, case: str = "") -> str:
        """Nothing measures."""
        return ""

    def tables(self, documents: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
        """There is nothing to download."""
        return {}


class Story(Protocol):
    """The block `/// strip | page` of a book whose pages change one thing step by step."""

    def strip(self, parent: Element) -> tuple[Element, Element]:
        """An empty strip: what `fill` gives its contents, and what holds the words of the page."""

    def fill(self, holder: Element, stops: Sequence[Mapping[str, Any]], place: int) -> None:
        """Write into a strip where the story stands, at one of the stops that the book's `story.py` computed."""


@dataclass(frozen=True)
class Accounting:
    """A quantity of the library that a test proves exact; a claim may be checked by it.

    Attributes:
        counts: What is counted and with what it is compared.
        origins: Dotted names; the value of a check must come from one of them.
        proof: The test, `file::function`.
    """

    counts: str
    origins: tuple[str, ...]
    proof: str


@dataclass(frozen=True)
class Units:
    """What a book counts in, besides bytes, money and the units of the SI.

    Attributes:
        defined: Units, a line each, as in `units.txt`: `guest = [guest] = gst` has a dimension of its own and a symbol.
        offered: What is offered besides when a unit is not known.
        typed: A regular expression of words that show, as units do, that an author typed the number before them.
        names: A regular expression of what ends with a number and is a name: such a number is not typed.
    """

    defined: str = ""
    offered: tuple[str, ...] = ()
    typed: str = ""
    names: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The definitions."""
        return tuple(line.strip() for line in self.defined.splitlines() if line.strip())


Block = Callable[[str, str, Sequence[Mapping[str, Any]]], Element]
"""A block of a book's own: its argument, its content and all records give an element. Raises `MeasuredError`."""


@dataclass(frozen=True)
class Apart:
    """A block of a book's own that takes long: a process of its own makes it from when the pages are known.

    Attributes:
        make: The dotted name of a function whose argument and content give the element. It raises `MeasuredError`.
        reads: Files and folders that it reads, besides the library and what it imports: it is made again when one of
            them changes.
    """

    make: str
    reads: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Survey:
    """What published results reach.

    Attributes:
        at: The value that a share of the results stays below: the median at 0.5.
        population: How many results there are, and from whom: `493 published steps of 22 publishers`.
    """

    at: Callable[[float], float]
    population: Callable[[], str]


@dataclass(frozen=True)
class Wheel:
    """The wheel that runs downloaded notebooks: the name of its file, and a sentence on what its one install `brings`.

    `build` gives its bytes. It is told the book's folder, and where it may keep them.
    """

    file: str
    brings: str
    build: Callable[[Path, Path], bytes]


@dataclass(frozen=True)
class Book:
    """A book.

    Attributes:
        id: Prefix of what readers keep in their browser, and of the wheels: two books on one host never meet.
        library: The folder of the package that snippets, acts and numbers use; None for the standard library alone.
        release: The version of the library; by default that of the distribution with its name.
        later: Module -> its folder: packages of the library, and others of pure Python, that a page fetches when one of
            them is first imported. A start leaves them out.
        compiled: Modules of the library, or names in them, that acts and most snippets import: these and what they
            import travel as byte code, and a start is faster. The build needs Node.js then.
        vocabulary: The module whose public names inline numbers may use; by default the package itself.
        ledger: A JSON file with the ledger's own fields: `{"title", "chapter", "properties": {name: JSON Schema}}`.
        ledger_address: Where the site publishes the schema of its readers' ledgers.
        colors: Name of a color token -> its value on light paper, which figures draw with.
        styles: Folders of style sheets that define tokens, besides those of `colors`.
        units: What it counts in.
        records: How records are read.
        statuses: State of a record -> how that is said, for states that only its records have.
        waiting: The heading of the sections whose tables have no record yet.
        accountings: By name, what claims may be checked by.
        survey: What published results reach, for claims about most of them; None without a survey.
        difference: What the library says, and how many times a published number that is, in words; else "2 % less".
        blocks: Blocks of the book's own, which stand among its numbers.
        extensions: Extensions to Markdown of the book's own, with their `constructs`, and by name the blocks of theirs
            that are made `apart`, if there are such.
        cards: Figures of the cards that a reader may measure, for `/// ceilings`; asked once per build.
        story: Fills `/// strip`; None for a book without one.
        wheel: What runs its notebooks where a reader has downloaded them; None for a book without it.
        reads: Module -> files that a figure which imports it reads.
        scripts: A TOML file whose table `scripts` lists, by hash, the scripts that may stand in a page. With it every
            page gets a content security policy.
        licenses: A folder whose `components.toml` says what of others may be in the site. With it the site gets a
            `LICENSES.txt`.
        search: Source of a page -> how the theme's search is to treat it; what the page's author says counts more.
        finish: What else is done to the folder of the built site.
        without_script: What an act says where JavaScript is off: where else the library answers.
    """

    id: str = "book"
    library: Path | None = None
    release: str = ""
    later: Mapping[str, Path] = field(default_factory=dict)
    compiled: Sequence[str] = ()
    vocabulary: str = ""
    ledger: Path | None = None
    ledger_address: str = ""
    colors: Mapping[str, str] = field(default_factory=dict)
    styles: Sequence[Path] = ()
    units: Units = field(default_factory=Units)
    records: Reader = field(default_factory=NoRecords)
    statuses: Mapping[str, str] = field(default_factory=dict)
    waiting: str = "Not measured yet"
    accountings: Mapping[str, Accounting] = field(default_factory=dict)
    survey: Survey | None = None
    difference: Callable[[Quantity[Any], float], str] | None = None
    blocks: Mapping[str, Block | Apart] = field(default_factory=dict)
    extensions: Sequence[Any] = ()
    cards: Callable[[], Sequence[Card]] = tuple
    story: Story | None = None
    wheel: Wheel | None = None
    reads: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    scripts: Path | None = None
    licenses: Path | None = None
    search: Callable[[str], Mapping[str, Any]] | None = None
    finish: Sequence[Callable[[Path, Manifest], None]] = ()
    without_script: str = ""

    @property
    def module(self) -> str:
        """The name under which the library is imported; "" without one."""
        return self.library.name if self.library else ""

    @property
    def version(self) -> str:
        """What readers and exports call the release: the library's version; "0" if it says none."""
        if self.release or not self.module:
            return self.release or "0"
        try:
            return importlib.metadata.version(self.module)
        except importlib.metadata.PackageNotFoundError:
            return "0"

    def made_apart(self) -> dict[str, Apart]:
        """By name, the blocks that a process of their own makes."""
        own = {name: block for name, block in self.blocks.items() if isinstance(block, Apart)}
        for extension in self.extensions:
            own.update(getattr(extension, "apart", {}))
        return own

    def ledger_fields(self) -> dict[str, Any]:
        """What the ledger has of its own: `title`, `chapter` and the rules of its fields by name, as `properties`."""
        try:
            text = self.ledger.read_text(encoding="utf-8") if self.ledger else "{}"
            given: dict[str, Any] = typed.read(Mapping[str, Any], text)
        except (OSError, ValueError) as error:
            raise UnbuildableError(f"{self.ledger}: {in_a_line(error) or error}") from error
        return {"title": "Design ledger", "chapter": 1, "properties": {}, **given}

    def tokens(self) -> str:
        """A style sheet with its colors as tokens: as they are on light paper, lighter on dark."""
        light = "".join(f"--il-{name}:{value};" for name, value in self.colors.items())
        dark = "".join(f"--il-{name}:color-mix(in oklab,{value} 55%,white);" for name, value in self.colors.items())
        rules = f":root,[data-md-color-scheme]{{{light}}}[data-md-color-scheme=slate]{{{dark}}}"
        return f"@layer explorable{{{rules}}}\n"

    def plain(self) -> str:
        """What child processes need, as JSON."""
        return json.dumps(
            {
                "id": self.id,
                "library": str(self.library or ""),
                "release": self.release,
                "later": {name: str(folder) for name, folder in self.later.items()},
                "vocabulary": self.vocabulary,
                "units": self.units.defined,
                "ledger": str(self.ledger or ""),
                "colors": dict(self.colors),
                "styles": list(map(str, self.styles)),
            }
        )


_used: list[Book] = []


def use(book: Book) -> None:
    """Let this process, and those that it starts, build this book."""
    from explorable.live.runtime import exchange
    from explorable.shared import svg

    _used[:] = [book]
    os.environ[PLAIN] = book.plain()
    exchange.fields_from(book.ledger)
    svg.ink_of(book.colors)


def current() -> Book:
    """The book that this process builds; a plain one if nothing was said."""
    if not _used:
        use(from_plain(os.environ.get(PLAIN, "{}")))
    return _used[0]


@dataclass(frozen=True)
class _Plain:
    """What `Book.plain` gives, with the defaults of a book."""

    id: str = Book.id
    library: str = ""
    release: str = ""
    later: Mapping[str, str] = field(default_factory=dict)
    vocabulary: str = ""
    units: str = ""
    ledger: str = ""
    colors: Mapping[str, str] = field(default_factory=dict)
    styles: Sequence[str] = ()


def from_plain(text: str) -> Book:
    """The book of which `plain` gave the data. Raises `ValueError` for anything else."""
    told: _Plain = typed.read(_Plain, text)
    later = {name: Path(folder) for name, folder in told.later.items()}
    library, ledger = (Path(path) if path else None for path in (told.library, told.ledger))
    return Book(
        id=told.id,
        library=library,
        release=told.release,
        later=later,
        vocabulary=told.vocabulary,
        ledger=ledger,
        colors=told.colors,
        styles=tuple(map(Path, told.styles)),
        units=Units(told.units),
    )


def library_folder(name: str, root: Path) -> Path:
    """The folder of the package called `name`, or of that path relative to `root`.

    Raises:
        LookupError: There is no such package.
    """
    if (root / name / "__init__.py").is_file():
        return (root / name).resolve()
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise LookupError(f"library: there is no package {name!r}; install it, or give its folder")
    return Path(next(iter(spec.submodule_search_locations))).resolve()


def library_of(part: str, option: str, root: Path) -> Path | None:
    """The library that a part's option `engine` names, or the book's where it names none.

    Raises:
        UnbuildableError: There is no such package.
    """
    try:
        return library_folder(option, root) if option else current().library
    except LookupError:
        raise UnbuildableError(f"{part}: option 'engine' is '{option}', which is not a Python package") from None


def from_module(name: str, root: Path) -> Book:
    """The `BOOK` of a module, which is looked for beside `mkdocs.yml` too.

    Raises:
        LookupError: There is no such module, or it holds no book.
    """
    if not all(map(str.isidentifier, name.split("."))):
        raise LookupError(f"book: {name!r} is not the name of a module")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        found = getattr(importlib.import_module(name), "BOOK", None)
    except ModuleNotFoundError as error:
        raise LookupError(f"book: there is no module {error.name!r}") from None
    if not isinstance(found, Book):
        raise LookupError(f"book: the module {name!r} has no BOOK of type explorable.book.Book")
    return found


__all__ = [
    "Accounting",
    "Apart",
    "Book",
    "NoRecords",
    "Reader",
    "Story",
    "Units",
    "current",
    "from_module",
    "replace",
    "use",
]
