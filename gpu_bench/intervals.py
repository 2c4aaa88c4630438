"""Intervals of time, as profilers report them: what they cover together, and what remains without others."""

from __future__ import annotations

from collections.abc import Iterable

Interval = tuple[float, float]
"""Begin and end, in any one unit."""


def clip(intervals: Iterable[Interval], begin: float, end: float) -> list[Interval]:
    """The parts of intervals that lie within a window."""
    cut = [(max(left, begin), min(right, end)) for left, right in intervals]
    return [(left, right) for left, right in cut if left < right]


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Disjoint intervals that cover the same points, in order."""
    merged: list[Interval] = []
    for left, right in sorted(intervals):
        if merged and left <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(right, merged[-1][1])
        else:
            merged.append((left, right))
    return merged


def covered(intervals: Iterable[Interval]) -> float:
    """How long at least one of the intervals lasts."""
    return sum(right - left for left, right in union(intervals))


def beyond(intervals: Iterable[Interval], others: Iterable[Interval]) -> float:
    """How long at least one of the intervals lasts while none of the others does."""
    others = list(others)
    return covered([*intervals, *others]) - covered(others)
