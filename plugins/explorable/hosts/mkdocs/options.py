"""The options of the plugin in `mkdocs.yml`, and the book that they describe."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config import config_options as option
from mkdocs.config.base import Config

from explorable import book
from explorable.book import Book
from explorable.figures.options import FiguresOptions
from explorable.figures.part import FiguresPart
from explorable.live.options import LiveOptions
from explorable.live.part import LivePart
from explorable.measured.part import MeasuredOptions, MeasuredPart
from explorable.records import JsonRecords

PARTS: dict[str, tuple[type[Any], type[Any]]] = {
    "live": (LiveOptions, LivePart),
    "measured": (MeasuredOptions, MeasuredPart),
    "figures": (FiguresOptions, FiguresPart),
}
"""The parts by name: what holds their options, and what does their work."""
_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_COLOR = re.compile(r"#[0-9a-f]{6}")


class Numbers(Config):  # type: ignore[no-untyped-call]
    """Where numbers come from.

    vocabulary: the module whose public names inline numbers may use; by default the library.
    records: the folder of the records, relative to `mkdocs.yml`.
    schema: their JSON Schema.
    command: what measures them; `{suite}` and `{case}` stand for what is asked.
    """

    vocabulary = option.Type(str, default="")
    records = option.Type(str, default="records")
    schema = option.Type(str, default="")
    command = option.Type(str, default="")


class ExplorableConfig(Config):  # type: ignore[no-untyped-call]
    """Options of the plugin.

    book: a module with a `BOOK`, for a book that says by program what it is; the next six options are left out then.
    id: prefix of what readers keep in their browser; lower-case letters, digits and "-".
    library: the package that snippets, acts and numbers use, by name or as a folder relative to `mkdocs.yml`.
    ledger: a JSON file with the ledger's own fields, relative to `mkdocs.yml`.
    colors: name of a color token -> its value on light paper.
    numbers: see `Numbers`.
    acts: the folder of the acts, inside the docs folder.
    packages: what snippets may import beside the standard library and the book's own, as Pyodide has it.
    parts: which parts the book has.
    live, measured, figures: further options of a part.
    """

    book = option.Type(str, default="")
    id = option.Type(str, default="book")
    library = option.Type(str, default="")
    ledger = option.Type(str, default="")
    colors = option.DictOfItems(option.Type(str), default={})
    numbers = option.SubConfig(Numbers)
    acts = option.Type(str, default="acts")
    packages = option.ListOfItems(option.Type(str), default=[])
    parts = option.ListOfItems(option.Choice(PARTS), default=[*PARTS])
    live = option.Type(dict, default={})
    measured = option.Type(dict, default={})
    figures = option.Type(dict, default={})


def book_of(config: ExplorableConfig, root: Path) -> Book:
    """The book that the options describe. Raises `LookupError` with one line for one that is not there."""
    if config.book:
        return book.from_module(config.book, root)
    numbers, wrong = config.numbers, _wrong(config)
    if wrong:
        raise LookupError(wrong)
    made = Book(
        id=config.id,
        library=book.library_folder(config.library, root) if config.library else None,
        vocabulary=numbers.vocabulary,
        ledger=root / config.ledger if config.ledger else None,
        colors=config.colors,
    )
    return book.replace(made, records=JsonRecords(root / numbers.schema, numbers.command)) if numbers.schema else made


def _wrong(config: ExplorableConfig) -> str:
    """What is wrong with an option, which value, and what is allowed; "" if nothing is."""
    if not _ID.fullmatch(config.id):
        return f"id: {config.id!r} is not allowed; allowed: lower-case letters, digits and '-'"
    for name, value in config.colors.items():
        if not _ID.fullmatch(name) or not _COLOR.fullmatch(value):
            return f"colors: '{name}: {value}' is not allowed; allowed: a name in small letters, a color as '#006395'"
    return ""
