"""The options of the toolkit in a book's configuration, and the book that they describe."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from explorable import book
from explorable.book import Book, Units
from explorable.figures.options import FiguresOptions
from explorable.figures.part import FiguresPart
from explorable.live.options import LiveOptions
from explorable.live.part import LivePart
from explorable.measured.part import MeasuredOptions, MeasuredPart
from explorable.measured.values.quantities import wrong_definition
from explorable.notebooks.part import NotebooksOptions, NotebooksPart
from explorable.records import JsonRecords
from explorable.shared.errors import UnbuildableError, nearest, require_within

PARTS: dict[str, tuple[type[Any], type[Any]]] = {
    "live": (LiveOptions, LivePart),
    "measured": (MeasuredOptions, MeasuredPart),
    "figures": (FiguresOptions, FiguresPart),
    "notebooks": (NotebooksOptions, NotebooksPart),
}
"""The parts by name: what holds their options, and what does their work."""
_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_COLOR = re.compile(r"#[0-9a-f]{6}")


@dataclass(frozen=True)
class Numbers:
    """Where numbers come from.

    vocabulary: the module whose public names inline numbers may use; by default the library.
    records: the folder of the records, relative to the book's folder.
    schema: their JSON Schema.
    command: what measures them; `{suite}` and `{case}` stand for what is asked.
    units: further units, a line each: `guest = [guest]`, `dozen = 12 * guest`, with a symbol `dozen = 12 * guest = dz`.
    """

    vocabulary: str = ""
    records: str = "records"
    schema: str = ""
    command: str = ""
    units: str = ""


@dataclass(frozen=True)
class Options:
    """Options of the toolkit. Paths are relative to the folder of the configuration.

    book: a module with a `BOOK`, for a book that says by program what it is; the next six options are left out then.
    id: prefix of what readers keep in their browser; lower-case letters, digits and "-".
    library: the package that snippets, acts and numbers use, by name or as a folder.
    ledger: a JSON file with the ledger's own fields.
    colors: name of a color token -> its value on light paper.
    numbers: see `Numbers`.
    acts: the folder of the acts, inside the docs folder.
    packages: what snippets may import beside the standard library and the book's own, as Pyodide has it.
    parts: which parts the book has.
    live, measured, figures, notebooks: further options of a part.
    """

    book: str = ""
    id: str = "book"
    library: str = ""
    ledger: str = ""
    colors: dict[str, str] = field(default_factory=dict)
    numbers: Numbers = Numbers()
    acts: str = "acts"
    packages: tuple[str, ...] = ()
    parts: tuple[str, ...] = tuple(PARTS)
    live: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    notebooks: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `UnbuildableError` for a part that there is not, and for acts outside the docs folder."""
        require_within("acts", self.acts)
        for part in self.parts:
            if part not in PARTS:
                raise UnbuildableError(f"there is no part '{part}'; {nearest(part, PARTS)}")

    def of(self, part: str) -> Mapping[str, Any]:
        """The options of a part, those included that the whole says."""
        live = {"acts_dir": self.acts, "packages": [*self.packages]} if part == "live" else {}
        given: Mapping[str, Any] = getattr(self, part)
        return {**live, **({"records": self.numbers.records} if part in ("live", "measured") else {}), **given}


def book_of(options: Options, root: Path) -> Book:
    """The book that the options describe. Raises `LookupError` with one line for one that is not there."""
    if options.book:
        return book.from_module(options.book, root)
    numbers, units = options.numbers, Units(options.numbers.units)
    if wrong := _wrong(options):
        raise LookupError(wrong)
    if wrong := wrong_definition(units):
        raise LookupError(f"numbers: units: {wrong}")
    made = Book(
        id=options.id,
        library=book.library_folder(options.library, root) if options.library else None,
        vocabulary=numbers.vocabulary,
        ledger=root / options.ledger if options.ledger else None,
        colors=options.colors,
        units=units,
    )
    return book.replace(made, records=JsonRecords(root / numbers.schema, numbers.command)) if numbers.schema else made


def _wrong(options: Options) -> str:
    """What is wrong with an option, which value, and what is allowed; "" if nothing is."""
    if not _ID.fullmatch(options.id):
        return f"id: {options.id!r} is not allowed; allowed: lower-case letters, digits and '-'"
    for name, value in options.colors.items():
        if not _ID.fullmatch(name) or not _COLOR.fullmatch(value):
            return f"colors: '{name}: {value}' is not allowed; allowed: a name in small letters, a color as '#006395'"
    return ""
