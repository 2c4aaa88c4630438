"""Cloud Titan: who, what, on which device, and the parts of the mission."""

from __future__ import annotations

from .cloud import AUDIT, GPU
from .cloud_race import RACE
from .cloud_wall import WALL
from .facts import Track

CLOUD = Track(
    name="cloud",
    title="Cloud Titan",
    persona="LLM architect",
    mission="Train Llama 3 70B, and keep its GPUs at work.",
    model="Llama 3 70B",
    device=GPU.title,
    audit=AUDIT,
    race=RACE,
    wall=WALL,
)
