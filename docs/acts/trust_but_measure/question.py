"""The question of Act 2: which tensors of a block are kept? What is tapped adds up to the prediction."""

from __future__ import annotations

import math

from explorable import live
from ironlaw import GB

from .block import BOXES, given, sizes
from .configurations import hunted
from .counts import engine_count

HUNTED = hunted()
UNIT, SCALE = ("GB", GB) if engine_count(HUNTED) >= GB else ("MB", 1_000_000)
MOST = 1.2 * (given(HUNTED) + sum(sizes(HUNTED).values())) / SCALE
"""Where the number's range ends: a little above what everything would take."""


def amount(size: float) -> float:
    """Bytes in the question's unit, to a hundredth."""
    return round(size / SCALE, 2)


QUESTION = live.NumberQuestion(
    prompt="Which does PyTorch keep for the backward pass? Tap them. How much is kept in all?",
    unit=UNIT,
    minimum=0,
    maximum=10 * math.ceil(MOST / 10),
    answer=lambda: engine_count(HUNTED) / SCALE,
    step=0.01,
    base=amount(given(HUNTED)),
)
TOGGLES = tuple(
    live.Toggle(
        box.name,
        f"{box.label} {amount(sizes(HUNTED)[box.name]):.2f} {UNIT}",
        False,
        group=f"Kept of {box.place}, with the question's sizes",
        adds=amount(sizes(HUNTED)[box.name]),
    )
    for box in BOXES
)
