"""Answers that are ranges of a number: which of them the number lies in, as it is and as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping

Ranges = Mapping[str, tuple[float, float]]
"""Name of an option -> from, to."""


def touched(ranges: Ranges, *values: float) -> tuple[str, ...]:
    """Every range that one of the values lies in, its ends included.

    The first value is the number itself; the others are that number as texts of the page round it. A reader who goes by
    such a text is not wrong, and of a number on the edge both ranges are right.
    """
    return tuple(name for name, (low, high) in ranges.items() if any(low <= value <= high for value in values))


def read(text: str) -> float:
    """The number that a reader sees."""
    return float(text.replace(",", ""))
