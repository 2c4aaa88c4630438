"""Hints before a wall: each names one step that moves the limit the right way, and together they lead over it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from docs.acts.missions import wall_remedy, wall_score
from docs.acts.missions.facts import settings, start_of
from tests.docs.acts import state_of
from tests.docs.missions import BY_NAME, NAMES, wall_act


def failing(name: str, each: int) -> dict[str, list[dict[str, Any]]]:
    """So many settings of a wall before each limit, the same in every run, and the start."""
    wall = BY_NAME[name].wall
    found: dict[str, list[dict[str, Any]]] = {}
    every = list(settings(wall.levers))
    for setting in [start_of(wall.levers), *random.Random(name).sample(every, min(len(every), 600))]:
        limit = wall_score.judged(wall, setting)[1]
        if limit and len(found.setdefault(limit, [])) < each:
            found[limit].append(setting)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_hint_moves_the_limit_that_it_names_the_right_way_by_one_step(name: str) -> None:
    wall = BY_NAME[name].wall
    told = set()
    for limit, starts in failing(name, 12).items():
        for setting in starts:
            way = wall_remedy.best_way(wall, setting, limit)
            if not way:
                assert wall_remedy.hint(wall, setting, limit).startswith("No three steps")
                continue
            for one, step in zip([setting, *(step.setting for step in way)], way, strict=False):
                assert [lever.name for lever in wall.levers if step.setting[lever.name] != one[lever.name]] == [
                    step.lever.name
                ]
                at = [step.lever.values.index(place[step.lever.name]) for place in (one, step.setting)]
                assert abs(at[0] - at[1]) == 1
            there = way[-1].setting
            plan, then = wall.plan(setting), wall.plan(there)
            few, more = (wall_score.trained(wall, p, str(s["rate"])) for p, s in ((plan, setting), (then, there)))
            # Of the loss: more trainings reach it; or as many, and fewer explode, or later, or the middle ends lower.
            better = {
                "memory": then.need / then.limit < plan.need / plan.limit,
                "network": then.network < plan.network,
                "mfu": then.mfu > plan.mfu,
                "loss": loss_of(more) < loss_of(few),
                "exploded": loss_of(more) < loss_of(few),
            }
            assert better[limit], (limit, setting)
            said = wall_remedy.hint(wall, setting, limit)
            assert all(step.words in said for step in way)
            told.add(limit)
            if len(way) == 2 and way[0].lever is not way[1].lever:
                # The limit needs each step, or a limit that is kept now does.
                for lever in (step.lever.name for step in way):
                    fewer = {**there, lever: setting[lever]}
                    worse = wall_remedy.excess(wall, fewer, limit) > wall_remedy.excess(wall, there, limit)
                    lost = any(
                        wall_remedy.keeps(wall, setting, one)
                        and wall_remedy.keeps(wall, there, one)
                        and not wall_remedy.keeps(wall, fewer, one)
                        for one in wall_remedy.LIMITS
                    )
                    assert worse or lost, said
    assert len(told) >= 3


def loss_of(trials: wall_score.Trials) -> tuple[float, ...]:
    late = sum(run.exploded_at or 0 for run in trials.runs)
    return (-trials.kept, trials.exploded, -late, wall_score.final_loss(trials.shown))


@pytest.mark.parametrize("name", NAMES)
def test_hints_lead_from_the_start_to_a_setting_that_counts(name: str) -> None:
    """On the cluster they once went to and fro between two layouts."""
    wall = BY_NAME[name].wall
    setting: Any = start_of(wall.levers)
    for _ in range(2 * len(wall.levers)):
        limit = wall_score.judged(wall, setting)[1]
        if not limit:
            break
        setting = wall_remedy.best_way(wall, setting, limit)[-1].setting
    assert wall_score.score(wall, setting) is not None


def test_a_wall_names_no_lever_before_a_hint_is_asked_for() -> None:
    for name in NAMES:
        act, levers = wall_act(name), BY_NAME[name].wall.levers
        asked = state_of(act, 1.0, revealed=True)
        failure: Any = act.compute(asked)["failure"]  # type: ignore[call-overload,index]
        assert failure["remedy"] == ""
        hinted: Any = act.compute({**asked, "hint": True})["failure"]  # type: ignore[call-overload,index]
        assert [lever for lever in levers if lever.label in hinted["remedy"]]
