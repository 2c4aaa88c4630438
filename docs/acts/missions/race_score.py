"""How good a setting of part 2 is, and what the change of its question is worth where the mission begins."""

from __future__ import annotations

from .facts import Race, Setting, start_of

MOVES = 5
"""How many moves a reader has."""


def judged(race: Race, setting: Setting) -> tuple[float, str]:
    """The score that a setting has, accepted or not, and the reason why it is not accepted.

    The score is samples per unit of what the setting uses. The reason is `refused` where the mission does not take the
    setting, `rate` if it is too slow, or empty if the setting is accepted.
    """
    stages = race.stages(setting)
    why = "refused" if stages.refused else "rate" if stages.rate < race.target else ""
    return race.worth[1] * stages.rate / stages.cost, why


def score(race: Race, setting: Setting) -> float | None:
    """The score of a setting; None where the pipeline is too slow or the mission refuses it."""
    worth, why = judged(race, setting)
    return None if why else worth


def faster(race: Race) -> float:
    """How many times as fast the pipeline becomes by the question's change, everything else as at the start."""
    start = start_of(race.levers)
    return race.stages({**start, **race.after}).rate / race.stages(start).rate
