"""Hints before a wall: each names one step that moves the limit the right way, and together they lead over it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from docs.acts.missions import wall_remedy, wall_score
from docs.acts.missions.facts import Setting, Wall, settings, start_of
from docs.acts.missions.shared import COUNTS
from tests.conftest import FULL
from tests.docs.acts import state_of
from tests.docs.missions import BY_NAME, NAMES, wall_act


def failing(name: str, each: int) -> dict[str, list[dict[str, Any]]]:
    """So many settings of a wall before each limit, the same in every run, and the start."""
    wall = BY_NAME[name].wall
    found: dict[str, list[dict[str, Any]]] = {}
    every = list(settings(wall.levers))
    for setting in [start_of(wall.levers), *random.Random(name).sample(every, min(len(every), 2400 if FULL else 600))]:
        limit = wall_score.judged(wall, setting)[1]
        if limit and len(found.setdefault(limit, [])) < each:
            found[limit].append(setting)
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_hint_moves_the_limit_that_it_names_the_right_way_by_one_step(name: str) -> None:
    wall = BY_NAME[name].wall
    told = set()
    tried = only = 0
    for limit, starts in failing(name, 150 if FULL else 12).items():
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
            now, *places = (measure(wall, at, limit) for at in (setting, *(step.setting for step in way)))
            assert places[-1] < now, (limit, setting)
            said = wall_remedy.hint(wall, setting, limit)
            # A lever that is moved twice is named once, where it ends.
            moved = {step.lever.name: step.words for step in way}
            assert all(words in said for words in moved.values())
            count = "One step" if len(moved) == 1 else f"{COUNTS[len(moved)]} steps"
            assert said.startswith(count), said
            for label in {step.lever.label for step in way}:
                assert said.count(f"{label} ") == 1, said
            # A reader who takes the first step comes nearer already, or is told that it does not help alone.
            astray = len(moved) > 1 and any(place > now for place in places)
            assert ("only together" in said) == astray, (said, now, places)
            tried += 1
            only += "only together" in said
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
    assert only <= max(3, tried / 20)


def test_a_step_that_helps_alone_comes_first_and_one_that_does_not_is_said_to_need_the_other() -> None:
    """Of the ways to less network on the cluster, some began with a step that made more of it."""
    wall, said = BY_NAME["tiny"].wall, []
    for setting in settings(wall.levers):
        limit = wall_score.judged(wall, setting)[1]
        if limit in ("loss", "exploded") and len(way := wall_remedy.best_way(wall, setting, limit)) == 2:
            first = measure(wall, way[0].setting, limit) <= measure(wall, setting, limit)
            hint = wall_remedy.hint(wall, setting, limit)
            assert first != ("only together" in hint), hint
            said.append(first)
    assert {True, False} == set(said)


def measure(wall: Wall, setting: Setting, limit: str) -> tuple[float, ...]:
    """How far a setting is from a limit: less is better."""
    plan = wall.plan(setting)
    if limit == "memory":
        return (plan.need / plan.limit,)
    if limit == "network":
        return (plan.network,)
    if limit == "mfu":
        return (-plan.mfu,)
    # More trainings reach the loss; or as many, and fewer explode, or later, or the middle ends lower.
    return loss_of(wall_score.trained(wall, plan, str(setting["rate"])))


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
