"""Table cells: one value of a record as text, and the padding that aligns a column on its decimal points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plugins.measured.errors import MeasuredError
from plugins.measured.evidence import STATUS, distribution, number_at
from plugins.measured.options import Column
from plugins.measured.quantities import Format, show, unit_text
from plugins.measured.records import Record

ABSENT = "—"
"""What stands where a record has no value."""


@dataclass(frozen=True)
class Cell:
    """A cell's text, whether it is a number, in which unit, and the number of samples behind it."""

    text: str
    numeric: bool = False
    n: int | None = None
    unit: str = "1"


def cell(record: Record, column: Column) -> Cell:
    """The cell of a record in a column.

    Raises `MeasuredError` when the path leads nowhere or the unit does not fit. A run that failed has no numbers, so
    there a missing value is shown as absent.
    """
    try:
        leaf = number_at(record, column.path)
        sampled = distribution(record, column.path)
    except MeasuredError:
        if record.status in ("ok", "throttled") or not record.describes(column.path):
            raise
        return Cell(ABSENT)
    if leaf.value is None:
        return Cell(ABSENT)
    if column.format is None and (isinstance(leaf.value, bool) or not isinstance(leaf.value, int | float)):
        return Cell(_words(leaf.value))
    form = column.format or Format(leaf.unit or "1")
    text = show(leaf.quantity(), form).number
    if sampled is None or not column.spread:
        return Cell(text, numeric=True, unit=form.unit)
    return Cell(f"{text}\u00a0±\u00a0{sampled.spread(form)}", numeric=True, n=sampled.n, unit=form.unit)


@dataclass(frozen=True)
class Filled:
    """A column with its cells.

    unit: what the header shows, empty for text and pure numbers.
    numeric: whether it is set right; a column of numbers stays one where all values are absent.
    paddings: the digits and points that every cell lacks behind its own, to be set invisibly so that right-aligned
        numbers meet at the decimal point. The text itself stays as it is: it can be copied and read aloud.
    """

    label: str
    unit: str
    numeric: bool
    cells: tuple[Cell, ...]
    paddings: tuple[str, ...]


def fill(column: Column, records: Sequence[Record]) -> Filled:
    """A column with a cell for every record. Raises `MeasuredError` that names the column and the case."""
    cells: list[Cell] = []
    for record in records:
        try:
            cells.append(cell(record, column))
        except MeasuredError as error:
            raise MeasuredError(f"column '{column.label}' of {record.case}: {error.what}", error.fix) from error
    units = [column.format.unit] if column.format else [item.unit for item in cells if item.numeric]
    return Filled(column.label, unit_text(units[0]) if units else "", bool(units), tuple(cells), _paddings(cells))


def _paddings(cells: Sequence[Cell]) -> tuple[str, ...]:
    tails = [_tail(item.text) if item.numeric else "" for item in cells]
    digits, points = [sum(map(str.isdigit, tail)) for tail in tails], [tail.count(".") for tail in tails]
    return tuple(
        "." * (max(points) - own_points) + "0" * (max(digits) - own_digits) if item.numeric else ""
        for item, own_digits, own_points in zip(cells, digits, points, strict=True)
    )


def status_text(record: Record) -> str:
    """The status of a run that is not simply `ok`, in words; empty when it is."""
    return "" if record.status == "ok" else STATUS.get(record.status, record.status)


def _tail(text: str) -> str:
    """What follows the whole part of the first number in a cell."""
    for index, character in enumerate(text):
        if index and not character.isdigit() and character != ",":
            return text[index:]
    return ""


def _words(value: Any) -> str:
    """Text, truth and lists as a reader says them."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(_words(item) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_words(item)}" for key, item in value.items())
    return str(value)
