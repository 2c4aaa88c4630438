"""Samples that nobody measured: no clock says the same twice, and no two processes take the same times.

What is looked at grows with the samples and no faster, however a record was made: a row is held against the few before
it, and of very long rows at places that lie evenly apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import eq, sub, truediv

_FEWEST = 3
"""Samples below which a likeness may be chance."""
_CLOSE = 1e-9
_SHARED = 0.6
"""Share of two repeats' samples that may not be equal, place by place."""
_BEFORE = 8
"""Repeats before it that a repeat is held against; no case of the suites has as many."""
_PLACES, _FEWEST_PLACES = 500_000, 64
"""Places of all repeats together at which they are held against each other, and of each one at least."""


@dataclass(frozen=True)
class _Row:
    """The samples of one repeat, and what each comparison asks of them."""

    samples: Sequence[float]
    kinds: int  # Different ones among them

    @property
    def told_apart(self) -> bool:
        """Whether the clock was fine enough to tell steps apart: equal samples mean something then."""
        return self.kinds >= min(len(self.samples) / 4, 8)

    @property
    def telling(self) -> bool:
        """Whether a likeness to another row is more than chance."""
        return self.told_apart and self.kinds >= _FEWEST


def copied(rows: Sequence[Sequence[float]], what: str) -> Iterator[str]:
    """What shows that samples, one list for each repeat, were not all measured."""
    places = max(_FEWEST_PLACES, _PLACES // max(1, len(rows)))
    before: list[_Row] = []
    orders: set[tuple[float, ...]] = set()
    for index, samples in enumerate(rows):
        row = _Row(samples, len({*samples}))
        if told := _made(row):
            yield f"{what} of repeat {index + 1} {told}"
        order = tuple(sorted(samples)) if row.telling else ()
        if order in orders or any(_alike(row, other, places) for other in before[-_BEFORE:]):
            yield f"{what} of repeat {index + 1} are those of an earlier one"
        if order:
            orders.add(order)
        before.append(row)


def _made(row: _Row) -> str | None:
    """How a row of samples was made, in words; None where nothing shows it."""
    samples = row.samples
    if len(samples) < 2 * _FEWEST:
        return None
    if row.kinds == 1:
        return "are all equal"
    mean = sum(samples) / len(samples)
    slopes = [after - before for before, after in pairwise(samples)]
    if all(abs(slope - slopes[0]) <= _CLOSE * mean for slope in slopes):
        return "lie on a straight line"
    if row.told_apart and _period(samples) <= len(samples) // 2:
        return "repeat themselves"
    return None


def _period(samples: Sequence[float]) -> int:
    """The shortest distance at which all samples repeat; of samples that do not repeat it is their number.

    By the longest border of each beginning, as Knuth, Morris and Pratt find it: each sample is looked at twice at most.
    """
    borders = [0] * len(samples)
    length = 0
    for index in range(1, len(samples)):
        while length and samples[index] != samples[length]:
            length = borders[length - 1]
        length += samples[index] == samples[length]
        borders[index] = length
    return len(samples) - length


def _alike(one: _Row, other: _Row, places: int) -> bool:
    """Whether one row of samples was made from another: copied in parts, scaled or shifted, at so many places."""
    shared = min(len(one.samples), len(other.samples))
    if shared < _FEWEST or not (one.telling and other.told_apart):
        return False
    apart = -(-shared // places)
    ours, theirs = one.samples[:shared:apart], other.samples[:shared:apart]
    if sum(map(eq, ours, theirs)) >= _SHARED * len(ours):
        return True
    ratios = list(map(truediv, ours, theirs))
    if max(ratios) - min(ratios) <= _CLOSE * ratios[0]:
        return True
    shifts = list(map(sub, ours, theirs))
    mean = sum(one.samples) / len(one.samples)
    return bool(max(shifts) - min(shifts) <= _CLOSE * mean)
