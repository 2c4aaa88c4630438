"""Figures that move: the controls a reader has, and every state of them.

A figure's file that names `CONTROLS` is drawn once for each of their combinations, while the site is built. So the page
needs no Python to move it, and every state is what the engine computed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = "100%"
"""Width of a picture, moving or not: the whole column."""
MOST_STATES = 600
"""The most states of one figure; each is a drawing that readers download."""


@dataclass(frozen=True)
class Control:
    """Something a reader moves: a slider through listed values, or with `buttons` one button for each.

    `draw` gets the value under `name`. `words` say what each value is called, in the order of `values`.
    """

    name: str
    label: str
    values: Sequence[Any]
    words: Sequence[str]
    default: Any
    buttons: bool = False

    def __post_init__(self) -> None:
        """Refuse a control that has no way to move. Raises `ValueError`."""
        if len(self.values) < 2 or len(self.values) != len(self.words):
            many = f"{len(self.values)} values and {len(self.words)} words"
            raise ValueError(f"control {self.name!r} has {many}; give two or more values, and words for each")
        if self.default not in self.values:
            raise ValueError(f"control {self.name!r}: the default {self.default!r} is none of its values")


@dataclass(frozen=True)
class Drag:
    """The picture as a slider: a pointer that moves over it from `left` to `right` sets `control`."""

    control: str
    left: float
    right: float


@dataclass(frozen=True)
class Reading:
    """A number that changes with the figure, in large letters above it."""

    label: str
    value: str
    unit: str = ""


def states(controls: Sequence[Control]) -> Iterator[dict[str, Any]]:
    """Every combination of values; the last control changes fastest. Raises `ValueError` for too many."""
    count = math.prod(len(control.values) for control in controls)
    if count > MOST_STATES:
        raise ValueError(f"{count} states are too many; the most is {MOST_STATES}")
    for values in itertools.product(*(control.values for control in controls)):
        yield {control.name: value for control, value in zip(controls, values, strict=True)}


def first(controls: Sequence[Control]) -> int:
    """The place of the default state among all states."""
    return list(states(controls)).index({control.name: control.default for control in controls})
