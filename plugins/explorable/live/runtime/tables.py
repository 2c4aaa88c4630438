"""A short way to write the tables of an act, and parts whose shown digits add up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import groupby

from explorable.live.runtime.contract import Column

KEYS = "abcdefg"


def columns(*titles: str) -> tuple[Column, ...]:
    """A text column and numeric ones, each given as `Label|unit`; their keys are a, b, c and so on."""
    parts = [title.partition("|") for title in titles]
    return tuple(Column(KEYS[i], label, unit, numeric=i > 0) for i, (label, _, unit) in enumerate(parts))


def row(*cells: str) -> dict[str, str]:
    """A row for `columns`."""
    return dict(zip(KEYS, cells, strict=False))


def adding_up(amounts: Mapping[str, float], whole: float, *, digits: int = 2, rest: str = "") -> dict[str, float]:
    """Parts rounded as they are shown, so that they add up to the whole as it is shown.

    Args:
        amounts: The parts, in the unit that is shown; one that is taken away is negative.
        whole: What they add up to.
        digits: Digits behind the point.
        rest: The part that takes what rounding leaves over, such as one that is a difference itself. Without it the
            parts nearest to their next step take a step each, so none is shown a whole step from what it is. Equal
            parts take it together, unless nothing else adds up.
    """
    if rest:
        shown = {name: round(amount, digits) for name, amount in amounts.items()}
        shown[rest] = round(shown[rest] + round(whole, digits) - sum(shown.values()), digits)
        return shown
    scale = 10**digits
    steps = {name: math.floor(amount * scale) for name, amount in amounts.items()}
    left = round(round(whole, digits) * scale) - sum(steps.values())
    nearest = sorted(steps, key=lambda name: steps[name] - amounts[name] * scale)
    together = [list(equal) for _, equal in groupby(nearest, key=lambda name: amounts[name])]
    taken: list[str] = []
    for names in (*together, *([name] for name in nearest)):
        if len(names) <= left - len(taken) and names[0] not in taken:
            taken += names
    for name in taken:
        steps[name] += 1
    return {name: count / scale for name, count in steps.items()}
