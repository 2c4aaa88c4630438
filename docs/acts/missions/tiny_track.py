"""Tiny Pioneer: who, what, on which device, and the parts of the mission."""

from __future__ import annotations

from .facts import Track
from .tiny import AUDIT, CHIP
from .tiny_race import RACE
from .tiny_wall import WALL

TINY = Track(
    name="tiny",
    title="Tiny Pioneer",
    persona="Hearable lead",
    mission="Speech without noise in under 10 ms, under 1 mW.",
    model="RNNoise",
    device=CHIP.title,
    audit=AUDIT,
    race=RACE,
    wall=WALL,
)
