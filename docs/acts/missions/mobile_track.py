"""Mobile Nomad: who, what, on which device, and the parts of the mission."""

from __future__ import annotations

from .facts import Track
from .mobile import AUDIT, GLASSES
from .mobile_race import RACE
from .mobile_wall import WALL

MOBILE = Track(
    name="mobile",
    title="Mobile Nomad",
    persona="AR-glasses developer",
    mission="Translation in the glasses at 60 frames per second.",
    model="ViT-B/16",
    device=GLASSES.title,
    audit=AUDIT,
    race=RACE,
    wall=WALL,
)
