"""Table cells: one value of a record, or one computed from several, as text, and the padding that aligns a column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from explorable.book import current
from explorable.measured.errors import MeasuredError, NullError
from explorable.measured.tables.options import Column
from explorable.measured.values.quantities import Format, quantity, show, unit_text
from explorable.measured.values.recorded import Leaf, Record, described

ABSENT = "—"
"""What stands where a record has no value."""


@dataclass(frozen=True)
class Line:
    """What a row of a table shows: a record, or a part of it.

    prefix: the path of the part with a dot behind it, e.g. `points.3.`; empty for the whole record.
    """

    record: Record
    prefix: str = ""

    def path(self, path: str) -> str:
        """Where a column's value stands in the record; a path that begins with `/` leads there from its root."""
        return path[1:] if path.startswith("/") else self.prefix + path

    @property
    def status(self) -> str:
        """How the part ended, or the record."""
        if not self.prefix or self.record.status not in current().records.measured:
            return self.record.status
        part = self.record.at(self.prefix[:-1])
        return str(part["status"]) if "status" in part else self.record.status


@dataclass(frozen=True)
class Cell:
    """A cell's text, whether it is a number, in which unit, and the number of samples behind it."""

    text: str
    numeric: bool = False
    n: int | None = None
    unit: str = "1"
    value: float | None = None
    """The number itself, in the unit."""


def cell(line: Line, column: Column, first: Line) -> Cell:
    """The cell of a line in a column; `first` is the table's first line.

    Raises `MeasuredError` when the path leads nowhere or the unit does not fit. What a record leaves null is shown as
    absent, and so is what a run that failed has not.
    """
    path = line.path(column.path)
    try:
        if column.derived:
            return _derived(line, column, first)
        leaf = line.record.number(path)
    except MeasuredError as error:
        measured = line.status in current().records.measured and not isinstance(error, NullError)
        if measured or not described(path):
            raise
        return Cell(ABSENT)
    if leaf.value is None:
        return Cell(ABSENT)
    if column.form is None and (isinstance(leaf.value, bool) or not isinstance(leaf.value, int | float)):
        return Cell(_words(leaf.value))
    form = column.form or Format(leaf.unit or "1")
    made = _number(leaf.quantity(), form)
    if leaf.n is None or not column.spread:
        return made
    return replace(made, text=_spread(made, leaf, form), n=leaf.n)


def _spread(made: Cell, leaf: Leaf, form: Format) -> str:
    """A number and its spread. Of a spread of hundreds two digits are enough, and as many of the number."""
    width = 0.0 if leaf.iqr is None else show(quantity(leaf.iqr / 2, leaf.unit or "1"), form).value
    if width < 100 or made.value is None:
        return f"{made.text}\u00a0±\u00a0{leaf.spread(form)}"
    places = 1 - math.floor(math.log10(width))
    return "\u00a0±\u00a0".join(f"{round(number, places):,.0f}" for number in (made.value, width))


def _derived(line: Line, column: Column, first: Line) -> Cell:
    """A number computed from several values; absent when one of them is."""
    assert column.form is not None, "the options ask for a unit"
    value = _divided(line, column)
    if column.ratio == "first":
        value = _quotient(value, _divided(first, column))
    elif column.ratio:
        value = _quotient(value, _value(line, column.ratio))
    elif column.error:
        value = _quotient(value, _value(line, column.error))
        value = None if value is None else value - 1
    return Cell(ABSENT) if value is None else _number(value, column.form)


def _number(value: Any, form: Format) -> Cell:
    shown = show(value, form)
    return Cell(shown.text, numeric=True, unit=form.unit, value=shown.value)


def _divided(line: Line, column: Column) -> Any:
    value = _value(line, column.path)
    return _quotient(value, _value(line, column.per)) if column.per else value


def _value(line: Line, path: str) -> Any:
    try:
        leaf = line.record.number(line.path(path))
    except NullError:
        if not described(line.path(path)):
            raise
        return None
    return None if leaf.value is None else leaf.quantity()


def position(line: Line, path: str) -> float | None:
    """The number at a path in its own unit; None where there is none."""
    found = _value(line, path)
    return None if found is None else float(found.magnitude)


def _quotient(value: Any, by: Any) -> Any:
    return None if value is None or by is None or not by.magnitude else value / by


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


def fill(column: Column, lines: Sequence[Line]) -> Filled:
    """A column with a cell for every line. Raises `MeasuredError` that names the column and the case."""
    cells: list[Cell] = []
    for line in lines:
        try:
            cells.append(cell(line, column, lines[0]))
        except MeasuredError as error:
            raise MeasuredError(f"column '{column.label}' of {line.record.case}: {error.what}", error.fix) from error
    units = [column.form.unit] if column.form else [item.unit for item in cells if item.numeric]
    return Filled(column.label, unit_text(units[0]) if units else "", bool(units), tuple(cells), _paddings(cells))


def _paddings(cells: Sequence[Cell]) -> tuple[str, ...]:
    tails = [_tail(item.text) if item.numeric else "" for item in cells]
    digits, points = [sum(map(str.isdigit, tail)) for tail in tails], [tail.count(".") for tail in tails]
    return tuple(
        "." * (max(points) - own_points) + "0" * (max(digits) - own_digits) if item.numeric else ""
        for item, own_digits, own_points in zip(cells, digits, points, strict=True)
    )


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
