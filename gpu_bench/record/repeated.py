"""Samples that nobody measured: no clock says the same twice, and no two processes take the same times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

_FEWEST = 3
"""Samples below which a likeness may be chance."""
_CLOSE = 1e-9
_SHARED = 0.6
"""Share of two repeats' samples that may not be equal, place by place."""


def copied(rows: Sequence[Sequence[float]], what: str) -> Iterator[str]:
    """What shows that samples, one list for each repeat, were not all measured."""
    for index, row in enumerate(rows):
        if told := _made(row):
            yield f"{what} of repeat {index + 1} {told}"
        if any(_alike(row, other) for other in rows[:index]):
            yield f"{what} of repeat {index + 1} are those of an earlier one"


def _made(row: Sequence[float]) -> str | None:
    """How a row of samples was made, in words; None where nothing shows it."""
    if len(row) < 2 * _FEWEST:
        return None
    if len({*row}) == 1:
        return "are all equal"
    mean = sum(row) / len(row)
    slopes = [after - before for before, after in pairwise(row)]
    if all(abs(slope - slopes[0]) <= _CLOSE * mean for slope in slopes):
        return "lie on a straight line"
    periods = range(2, len(row) // 2 + 1)
    if _told_apart(row) and any(all(a == b for a, b in zip(row, row[p:], strict=False)) for p in periods):
        return "repeat themselves"
    return None


def _told_apart(row: Sequence[float]) -> bool:
    """Whether the clock was fine enough to tell steps apart: equal samples mean something then."""
    return len({*row}) >= min(len(row) / 4, 8)


def _alike(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether one row of samples was made from another: copied, in another order, scaled or shifted."""
    shared = min(len(one), len(other))
    if shared < _FEWEST or not (_told_apart(one) and _told_apart(other)) or len({*one}) < _FEWEST:
        return False
    pairs = list(zip(one, other, strict=False))
    if sum(a == b for a, b in pairs) >= _SHARED * shared or sorted(one) == sorted(other):
        return True
    ratios, shifts = [a / b for a, b in pairs], [a - b for a, b in pairs]
    mean = sum(one) / len(one)
    return max(ratios) - min(ratios) <= _CLOSE * ratios[0] or max(shifts) - min(shifts) <= _CLOSE * mean
