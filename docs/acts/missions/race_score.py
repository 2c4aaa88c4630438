"""How good a setting of part 2 is, and what twice the devices are worth where the mission begins."""

from __future__ import annotations

from .facts import Race, Setting, Stages, start_of

MOVES = 5
"""How many moves a reader has."""


def obstacle(race: Race, setting: Setting) -> str:
    """What is in the way: `refused` by the mission, or the `rate`; empty when nothing is."""
    return _obstacle(race, race.stages(setting))


def _obstacle(race: Race, stages: Stages) -> str:
    return "refused" if stages.refused else "rate" if stages.rate < race.target else ""


def score(race: Race, setting: Setting) -> float | None:
    """Samples for what the setting uses up; None where the pipeline is too slow or the mission refuses it."""
    stages = race.stages(setting)
    if _obstacle(race, stages):
        return None
    return race.worth[1] * stages.rate / stages.cost


def twice(race: Race) -> float:
    """How many times as fast the pipeline becomes with twice the devices, everything else as at the start."""
    start = start_of(race.levers)
    once, more = ({**start, "devices": race.before * times} for times in (1, 2))
    return race.stages(more).rate / race.stages(once).rate
