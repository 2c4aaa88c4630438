"""Edge Guardian: who, what, on which device, and the parts of the mission."""

from __future__ import annotations

from .edge import AUDIT, IMAGE, ORIN
from .edge_race import RACE
from .edge_wall import WALL
from .facts import Track

EDGE = Track(
    name="edge",
    title="Edge Guardian",
    persona="Vehicle-safety lead",
    mission="A safety loop that always answers in 10 ms, with a network that learns every night.",
    model=f"ResNet-50, {IMAGE} x {IMAGE}",
    device=ORIN.title,
    audit=AUDIT,
    race=RACE,
    wall=WALL,
)
