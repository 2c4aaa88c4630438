"""Tables as plain text, Markdown, CSV or JSON: the same rows for a terminal, a pull request and a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Format = Literal["text", "markdown"]
ABSENT = "-"
_HARMLESS = re.compile(r"[\w .,:;%+()/'=-]*", re.ASCII)
# An address, an issue, a commit: what a program that shows Markdown may make a link of.
_LINKS = re.compile(r"://|www\.|\w\.[a-z]{2}|\bGH-\d|\b(?=\d*[a-f])[0-9a-f]{7,40}\b", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """A table ready to print."""

    title: str  # What it shows
    head: tuple[str, ...]  # Column titles, with units
    rows: tuple[tuple[str, ...], ...]  # Cells as text
    left: int = 1  # How many columns, from the first on, are words; the others are numbers and set right


def render(table: Table, form: Format) -> str:
    """The table as text, without a newline at its end."""
    return _markdown(table) if form == "markdown" else _text(table)


def _markdown(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(words(cell).replace("|", "\\|") for cell in cells) + " |"

    rule = [":--" if index < table.left else "--:" for index in range(len(table.head))]
    return "\n".join([f"**{table.title}**", "", line(table.head), line(rule), *map(line, table.rows)])


def words(text: str) -> str:
    """Words of a record for a Markdown text: as code where they could call somebody, link or show a picture."""
    said = "".join(letter if letter.isprintable() else " " for letter in text)
    if _HARMLESS.fullmatch(said) and not _LINKS.search(said):
        return said
    return f"`{said.replace('`', chr(39))}`"


def _text(table: Table) -> str:
    widths = [max(map(len, column)) for column in zip(table.head, *table.rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        pairs = enumerate(zip(cells, widths, strict=True))
        return "  ".join(c.ljust(w) if index < table.left else c.rjust(w) for index, (c, w) in pairs).rstrip()

    return "\n".join([table.title, line(table.head), line(["-" * width for width in widths]), *map(line, table.rows)])


def number(value: float | None, digits: int = 1, scale: float = 1.0) -> str:
    """A number with so many decimals and thousands separated; `-` when it was not measured."""
    return ABSENT if value is None else f"{value * scale:,.{digits}f}"


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Flat rows as CSV (RFC 4180), one column for every name that occurs, in the order of first occurrence."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def to_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """Flat rows as a JSON list."""
    return json.dumps(list(rows), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
