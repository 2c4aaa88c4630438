"""Reserved memory: a band fitted to the rows of one half of the models, and judged on the rows of the other half.

The engine plays a step against the allocator's published rules (`ironlaw.memory.memory_phases`). What the segments of a
real run take beside that is a factor, ln of which is taken to be normal. Rows of one model share their error, so its
spread is known from as many values as there are models: the band is Student's. Which half a model is in follows from
its name alone, so nobody chose the halves by their errors.
"""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from ironlaw.memory.phases import memory_phases
from tools.accuracy.predict import published_bytes, waiting
from tools.accuracy.report import percentile
from tools.accuracy.rows import MEASURES, Row, load
from tools.accuracy.setups import row_setup

GROUP = "reserved memory"


@dataclass(frozen=True)
class Reserved:
    """A published value of reserved bytes, and what playing the same step gives."""

    row: Row
    kind: str
    model: str
    published: float
    predicted: float

    @property
    def log_ratio(self) -> float:
        """ln(published / played)."""
        return math.log(self.published / self.predicted)

    @property
    def error(self) -> float:
        """Relative error of the played value."""
        return self.predicted / self.published - 1


@dataclass(frozen=True)
class Half:
    """The rows of one half of the models: how far they are from what is played, and how many the band holds."""

    what: str
    models: int
    rows: int
    median: float
    p90: float
    covered: float


@dataclass(frozen=True)
class ReservedBand:
    """ln(published / played) of reserved bytes: nine runs in ten lie within `width` of `mean`.

    Attributes:
        mean: Its expected value.
        width: Half the width of the band.
        rows: Published values behind it.
        models: The models that they are of.
    """

    mean: float
    width: float
    rows: int
    models: int


@cache
def reserved() -> tuple[Reserved, ...]:
    """Every published value of reserved bytes whose step can be played."""
    return tuple(one for row in load() for one in _of(row))


def _of(row: Row) -> Iterable[Reserved]:
    values = {kind: value for kind, value in row.measures.items() if MEASURES[kind] == GROUP}
    if not values or waiting(row).keys() & values or row.shape is None:
        return
    played = memory_phases(row_setup(row))
    most = max(phase.reserved for phase in played.phases if phase.name.endswith("step"))
    for kind, value in values.items():
        yield Reserved(row, kind, row.shape.name, published_bytes(kind, value), float(most))


def fitted_models(names: Iterable[str]) -> frozenset[str]:
    """The half of some models that a band is fitted to: those whose hashed names come first."""
    ranked = sorted(set(names), key=lambda name: hashlib.sha256(f"reserved | {name}".encode()).hexdigest())
    return frozenset(ranked[: len(ranked) // 2])


def halves(seen: Sequence[Reserved]) -> tuple[list[Reserved], list[Reserved]]:
    """The rows that the band is fitted to, and those that judge it."""
    chosen = fitted_models(one.model for one in seen)
    return [one for one in seen if one.model in chosen], [one for one in seen if one.model not in chosen]


def band(seen: Sequence[Reserved]) -> ReservedBand:
    """The band that should hold nine rows in ten of other models."""
    ratios = [one.log_ratio for one in seen]
    models = len({one.model for one in seen})
    width = student(models - 1) * statistics.stdev(ratios)
    return ReservedBand(statistics.mean(ratios), width, len(seen), models)


def covers(one: Reserved) -> bool:
    """Whether the band of the fitted half holds a value."""
    made = _fitted_band()
    return abs(one.log_ratio - made.mean) <= made.width


@cache
def _fitted_band() -> ReservedBand:
    return band(halves(reserved())[0])


def student(freedom: int) -> float:
    """Half the width of the range that holds 90 % of Student's distribution with so many degrees of freedom.

    By bisection of the integral of its density, which needs no library.
    """
    scale: float = math.gamma((freedom + 1) / 2) / (math.sqrt(freedom * math.pi) * math.gamma(freedom / 2))

    def within(width: float, parts: int = 2000) -> float:
        """Simpson's rule from 0."""
        step = width / parts
        heights = [(1 + (i * step) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(parts + 1)]
        return float(
            scale * step / 3 * (heights[0] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2]) + heights[-1])
        )

    low, high = 0.0, 100.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < 0.45 else (low, middle)
    return (low + high) / 2


def judged() -> tuple[Half, ...]:
    """Both halves against the band that one of them gave."""
    fitted, others = halves(reserved())
    return tuple(
        Half(
            what,
            len({one.model for one in rows}),
            len(rows),
            statistics.median(abs(one.error) for one in rows),
            percentile([abs(one.error) for one in rows], 0.9),
            statistics.mean(covers(one) for one in rows),
        )
        for what, rows in (("models that the band is fitted to", fitted), ("models that it never saw", others))
    )
