"""Errors by method and stack: full training, LoRA, quantized bases, and whose software ran them."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from ironlaw import GIB
from tools.accuracy.calculators import others
from tools.accuracy.experience import experience
from tools.accuracy.observations import publisher
from tools.accuracy.predict import Comparison, published_bytes, waiting
from tools.accuracy.report import percentile, report
from tools.accuracy.reserved import Reserved, covers, halves, reserved
from tools.accuracy.rows import MEASURES, Row, load

LEVELS = {
    "memory": "allocated",
    "reserved memory": "reserved",
    "device memory": "driver's view",
    "time": "time",
}
"""Groups of published values in this table, with short names."""


@dataclass(frozen=True)
class Rival:
    """A calculator on rows that it answers: how many, the median size of its errors, and their 90th percentile."""

    rows: int
    median: float
    p90: float


@dataclass(frozen=True)
class Line:
    """Published values of one kind, of one method and one stack.

    Attributes:
        method: `full`, `LoRA`, `LoRA on NF4`, `LoRA on GPTQ`, ….
        stack: Who published the runs.
        level: What was published.
        rows: How many.
        asked: Of how many the engine can be asked.
        median: Median size of the engine's errors; None without one.
        p90: Its 90th percentile.
        coverage: Share of the values inside the band of a calibration that has not seen the source.
        rivals: Each calculator on those rows of the engine that it answers too, on all where the engine cannot be
            asked; None where it answers none. For allocated memory alone.
    """

    method: str
    stack: str
    level: str
    rows: int
    asked: int
    median: float | None
    p90: float | None
    coverage: float | None
    rivals: tuple[Rival | None, ...]


def method(row: Row) -> str:
    """The method of a row, in words."""
    if row.get("method", "full") == "full":
        return "full"
    base = {"none": "", "nf4": " on NF4", "nf4-double": " on NF4", "gptq": " on GPTQ"}[row.get("quantization", "none")]
    return "LoRA" + base


@dataclass
class _Cell:
    """What is known of a line: comparisons, whether the band covered them, and rows that wait with their values."""

    compared: list[Comparison | Reserved] = field(default_factory=list)
    covered: list[bool] = field(default_factory=list)
    waiting: list[tuple[Row, str]] = field(default_factory=list)


@cache
def methods() -> tuple[Line, ...]:
    """All lines, by method, then by stack, then from tensors to time."""
    cells: dict[tuple[str, str, str], _Cell] = {}

    def cell(row: Row, kind: str) -> _Cell:
        return cells.setdefault((method(row), publisher(row), MEASURES[kind]), _Cell())

    for c in report().comparisons:
        cell(c.row, c.kind).compared.append(c)
    for judged in experience().judged:
        c = judged.observation.comparison
        cell(c.row, c.kind).covered.append(judged.covered)
    for one in reserved():
        cell(one.row, one.kind).compared.append(one)
    for one in halves(reserved())[1]:
        cell(one.row, one.kind).covered.append(covers(one))
    for row in load():
        for kind in waiting(row):
            cell(row, kind).waiting.append((row, kind))
    order = {group: place for place, group in enumerate(LEVELS)}
    listed = sorted((key for key in cells if key[2] in order), key=lambda key: (key[0], key[1], order[key[2]]))
    return tuple(_line(key, cells[key]) for key in listed)


def _line(key: tuple[str, str, str], cell: _Cell) -> Line:
    errors = [abs(c.error) for c in cell.compared]
    rivals: tuple[Rival | None, ...] = ()
    if key[2] == "memory":
        rows = [(c.row, c.published) for c in cell.compared]
        rows = rows or [(row, published_bytes(kind, row.measures[kind]) / GIB) for row, kind in cell.waiting]
        published = [true for _, true in rows]
        rivals = tuple(_rival(column, published) for column in zip(*(others(row) for row, _ in rows), strict=True))
    return Line(
        key[0],
        key[1],
        LEVELS[key[2]],
        len(errors) + len(cell.waiting),
        len(errors),
        statistics.median(errors) if errors else None,
        percentile(errors, 0.9) if errors else None,
        statistics.mean(cell.covered) if cell.covered else None,
        rivals,
    )


def _rival(answers: Sequence[float | None], published: Sequence[float]) -> Rival | None:
    errors = [abs(x / true - 1) for x, true in zip(answers, published, strict=True) if x is not None]
    return Rival(len(errors), statistics.median(errors), percentile(errors, 0.9)) if errors else None


def reasons_to_wait() -> tuple[tuple[str, int, int], ...]:
    """Why published values cannot be asked for yet: the reason, how many values, of how many rows."""
    values: Counter[str] = Counter()
    rows: Counter[str] = Counter()
    for row in load():
        why = waiting(row)
        values.update(why.values())
        rows.update(set(why.values()))
    return tuple((reason, count, rows[reason]) for reason, count in values.most_common())
