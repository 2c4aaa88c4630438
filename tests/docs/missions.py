"""What tests of the missions share: tracks and parts, what wins, and the views of their acts. Each is made once."""

from __future__ import annotations

from functools import cache
from typing import Any

from docs.acts.missions import wall_score
from docs.acts.missions.facts import settings
from explorable.live.runtime.acts import LoadedAct
from tests.docs.acts import loaded, state_of
from tools import missions
from tools.missions import TRACKS

NAMES = [track.name for track in TRACKS]
BY_NAME = {track.name: track for track in TRACKS}
SCORES = {(track.name, part): (levers, score) for track in TRACKS for part, levers, score in missions.parts_of(track)}
FOLDERS = {"audit": "state-audit", "race": "pipeline-race", "wall": "scaling-wall"}
PARTS = sorted({part for _, part in SCORES})


@cache
def searched() -> Any:
    return missions.search()


@cache
def audit_act(name: str) -> LoadedAct:
    return loaded(f"state-audit: {name}")


def audited(name: str, **controls: Any) -> Any:
    act = audit_act(name)
    return act.compute(state_of(act, 12, revealed=True, **controls))


@cache
def race_act(name: str) -> LoadedAct:
    return loaded(f"pipeline-race: {name}")


def raced(name: str, moves: Any = 0, **controls: Any) -> Any:
    act = race_act(name)
    return act.compute({**state_of(act, 1, revealed=True, **controls), "moves": moves})


@cache
def wall_act(name: str) -> LoadedAct:
    return loaded(f"scaling-wall: {name}")


def walled(name: str, **controls: Any) -> Any:
    act = wall_act(name)
    return act.compute(state_of(act, 1.0, revealed=True, **controls))


@cache
def trials_of(name: str) -> list[tuple[dict[str, Any], wall_score.Trials]]:
    """Every setting of a wall that keeps all limits but perhaps that of the loss, with its trainings."""
    wall = BY_NAME[name].wall
    kept = [(one, wall.plan(one)) for one in settings(wall.levers) if not wall_score.limited(wall, wall.plan(one))]
    return [(one, wall_score.trained(wall, plan, str(one["rate"]))) for one, plan in kept]
