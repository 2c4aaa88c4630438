"""Cloud Titan: who, what, on which device, and the parts of the mission."""

from __future__ import annotations

from .cloud import AUDIT, COST, GPU
from .cloud_race import RACE
from .cloud_wall import WALL
from .facts import Track

CLOUD = Track(
    name="cloud",
    title="Cloud Titan",
    persona="LLM architect",
    mission="Train Llama 3 70B, and keep its GPUs at work.",
    crisis=f"The utility bill. Training takes ten times as long as promised, and idle GPUs burn ${COST:,.0f} an hour.",
    model="Llama 3 70B",
    device=GPU.title,
    audit=AUDIT,
    race=RACE,
    wall=WALL,
)
