"""What a wall names as the cause of a failing loss: on every board, its change cures, and nothing less does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from docs.acts.missions import wall_cause, wall_score
from docs.acts.missions.facts import Setting, Wall, settings
from docs.acts.missions.found import FOUND
from tests.docs.missions import BY_NAME, NAMES, trials_of, walled

SAID = {
    "scaling": ("too small for FP16 become zero", "that FP16 cannot hold"),
    "clip": ("one huge update", "Clipping shortened"),
    "rate": ("By this rule the learning rate",),
    "batch": ("The batch is too large: the samples are enough for",),
}


def failing(name: str) -> Iterator[tuple[dict[str, Any], wall_score.Trials]]:
    """Every setting that only the loss keeps from counting; of those whose trainings are the same, one."""
    wall, seen = BY_NAME[name].wall, set()
    for one, trials in trials_of(name):
        plan = wall.plan(one)
        key = (plan.batch, plan.guard, one["rate"])
        if trials.obstacle and key not in seen:
            seen.add(key)
            yield one, trials


def ends(wall: Wall, setting: Setting, away: tuple[str, ...], batches: list[int], failure: str) -> bool:
    """Whether this failure ends when these causes are gone: other levers, or any smaller batch of the board."""
    moved = dict(setting)
    for cause in away:
        if cause in ("clip", "rate"):
            levers = next(lever for lever in wall.levers if lever.name == cause)
            [moved[cause]] = [value for value in levers.values if value != setting[cause]]
        elif cause == "scaling":
            moved[cause] = "dynamic"
    plan = wall.plan(moved)
    plans = [replace(plan, batch=one) for one in batches if one < plan.batch] if "batch" in away else [plan]
    after = [wall_score.trained(wall, one, str(moved["rate"])) for one in plans]
    judged = [one.obstacle for one in after if not one.unjudged]
    return any(one != "exploded" if failure == "exploded" else not one for one in judged)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_named_as_the_cause_cures_the_loss_and_nothing_less_does(name: str) -> None:
    """Sixteen updates were said to be too few where the search's best has sixteen, and clipping or the rate failed."""
    wall = BY_NAME[name].wall
    batches = sorted({wall.plan(one).batch for one in settings(wall.levers)})
    named = set()
    for setting, trials in failing(name):
        found = wall_cause.causes(wall, setting)
        assert found, setting
        assert ends(wall, setting, found, batches, trials.obstacle), (setting, found)
        for fewer in (some for count in range(1, len(found)) for some in combinations(found, count)):
            assert not ends(wall, setting, fewer, batches, trials.obstacle), (setting, found, fewer)
        named.add(found)
        told = walled(name, **setting)["failure"]["what"]
        assert {cause for cause, words in SAID.items() if any(one in told for one in words)} == set(found), told
        assert told.startswith("Two" if len(found) == 2 else "Three") == (len(found) > 1)
    assert len(named) > 2
    assert any(len(found) > 1 for found in named)


def test_sixteen_updates_are_not_called_too_few_beside_what_wins_with_them() -> None:
    best: dict[str, dict[str, Any]] = {name: dict(FOUND[name]["wall"].setting) for name in ("tiny", "edge")}
    clipped = walled("tiny", **{**best["tiny"], "clip": True})["failure"]["what"]
    assert clipped == "Clipping shortened 16 of 16 updates, and the toy loss comes down too slowly."
    slow = walled("edge", **{**best["edge"], "rate": "root"})["failure"]["what"]
    assert slow == "By this rule the learning rate is 0.50: too low for 16 updates."


@pytest.mark.parametrize("name", NAMES)
def test_gradients_that_vanish_are_named_alone_exactly_where_a_loss_scale_saves_the_loss(name: str) -> None:
    """FP16 without a scale was once told "the samples are enough for 64 updates", which were enough with one."""
    wall = BY_NAME[name].wall
    told = 0
    for setting, trials in failing(name):
        scaled = {**setting, "scaling": "dynamic"}
        saves = (
            trials.obstacle == "loss"
            and "scaling" in setting
            and not wall_score.obstacle(wall, wall.plan(scaled), str(setting["rate"]))
        )
        failure = walled(name, **setting)["failure"]["what"]
        assert failure.startswith("Gradients that are too small for FP16") == saves
        told += saves
    assert bool(told) == (name != "tiny")
