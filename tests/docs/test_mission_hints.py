"""Hints in the missions: on request alone, and what they name works."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from docs.acts.missions import audit_score, race_score, tiny, wall_score
from docs.acts.missions.facts import Levers, Setting, position, settings, start_of
from docs.acts.missions.found import FOUND
from docs.acts.missions.tracks import tracks
from docs.acts.pipeline_race import act as race
from docs.acts.state_audit import act as audit
from tests.conftest import FULL
from tests.docs.acts import loaded, state_of

NAMES = [track.name for track in tracks()]
BY_NAME = {track.name: track for track in tracks()}


act_of = cache(loaded)


def failure_of(act_name: str, setting: Setting, *, hint: bool) -> Any:
    act = act_of(act_name)
    state: Any = {**state_of(act, 1, revealed=True, **setting), "hint": hint, "moves": 0}
    view: Any = act.compute(state)
    return view["failure"]


def named(levers: Levers, remedy: str) -> dict[str, Any]:
    """The positions that a remedy names."""
    return {
        lever.name: value
        for lever in levers
        for value in lever.values
        if re.search(rf"\b{re.escape(position(lever, value))}(?=[,.]| and )", remedy)
    }


@pytest.mark.parametrize("name", NAMES)
def test_what_the_hint_of_an_audit_names_is_enough_in_every_failing_setting(name: str) -> None:
    """In 36 of 84, 52 of 83, 232 of 460 and 125 of 252 settings it once said only that no single change is enough."""
    board = BY_NAME[name].audit
    failing = [one for one in settings(board.levers) if audit_score.score(board, one) is None]
    sizes = set()
    for setting in failing:
        changes = audit.changes(board, setting)
        assert changes
        assert audit_score.score(board, {**setting, **changes}) is not None
        # One change less, and it would not be enough: no way is longer than it has to be.
        for left_out in changes:
            fewer = {lever: value for lever, value in changes.items() if lever != left_out}
            assert audit_score.score(board, {**setting, **fewer}) is None
        sizes.add(len(changes))
    assert sizes >= {1, 2}
    for setting in failing[:: max(1, len(failing) // 12)]:
        remedy = failure_of(f"state-audit: {name}", setting, hint=True)["remedy"]
        assert named(board.levers, remedy) == audit.changes(board, setting), remedy
        assert remedy.startswith("One change") == (len(audit.changes(board, setting)) == 1)


@pytest.mark.parametrize("name", NAMES)
def test_the_hinted_steps_of_a_race_raise_its_rate(name: str) -> None:
    """A race that is too slow had neither a hint nor a button for one."""
    board = BY_NAME[name].race
    assert loaded(f"pipeline-race: {name}").act.hints
    slow = [one for one in settings(board.levers) if race_score.judged(board, one)[1] == "rate"]
    assert slow
    for setting in slow[:: max(1, len(slow) // 60)]:
        way = race.way(board, setting)
        assert 1 <= len(way) <= 2
        for before, after in pairwise([setting, *(step.setting for step in way)]):
            moved = [lever for lever in board.levers if before[lever.name] != after[lever.name]]
            assert len(moved) == 1
            assert abs(moved[0].values.index(before[moved[0].name]) - moved[0].values.index(after[moved[0].name])) == 1
        then = board.stages(way[-1].setting)
        assert not then.refused
        assert then.rate > board.stages(setting).rate
    for setting in slow[:: max(1, len(slow) // 5)]:
        told = failure_of(f"pipeline-race: {name}", setting, hint=True)
        assert told["title"] == "Too slow"
        way = race.way(board, setting)
        assert all(step.words in told["remedy"] for step in way)


PARTS = ["state-audit", "pipeline-race", "scaling-wall"]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", NAMES)
def test_what_wins_and_the_lesson_are_told_after_the_win_alone(name: str, part: str) -> None:
    track = BY_NAME[name]
    board: Any = {"state-audit": track.audit, "pipeline-race": track.race, "scaling-wall": track.wall}[part]
    found = FOUND[name][{"state-audit": "audit", "pipeline-race": "race", "scaling-wall": "wall"}[part]].setting
    act = loaded(f"{part}: {name}")
    verdict: Any = act.reveal(state_of(act, 1, revealed=True))
    start: Any = act.compute(state_of(act, 1, revealed=True))
    won: Any = act.compute(state_of(act, 1, revealed=True, **found))
    assert board.lesson in won["success"]["what"]
    before = json.dumps([verdict, start], ensure_ascii=False)
    assert board.lesson[:60] not in before
    told = " ".join([verdict["headline"], *verdict["paragraphs"], *start["failure"].values()])
    won_by = {lever.name: position(lever, found[lever.name]) for lever in board.levers}
    assert not [words for words in won_by.values() if words in told], told


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_of_a_wall_is_called_a_toy_and_its_two_numbers_are_told_apart(name: str) -> None:
    """A mean of 0.011 and a last loss of 0.007 once stood side by side, unsaid."""
    act, board = loaded(f"scaling-wall: {name}"), BY_NAME[name].wall
    sample = random.Random(name).sample(list(settings(board.levers)), 60)
    for setting in [start_of(board.levers), FOUND[name]["wall"].setting, *sample]:
        view: Any = act.compute(state_of(act, 1, revealed=True, **setting))
        judged = (view["failure"] or view["success"] or {}).values()
        texts = [view["summary"], *view["readings"], *(text for text in judged if isinstance(text, str))]
        if view["success"]:
            texts.remove(view["success"]["what"])
            texts.append(view["success"]["what"].replace(board.lesson, ""))
        texts += [row["a"] for table in ("limits", "curve") for row in view["tables"][table]["rows"]]
        unsaid = [text for text in texts if re.search(r"(?i)(?<!toy )\bloss\b(?! scal)", text)]
        assert not unsaid
    limits = view["tables"]["limits"]
    assert "mean of the last tenth of the updates" in limits["caption"]
    assert "middle training" in limits["caption"]
    # Where the middle training is stepped through, each update has its own loss, and the last is not the mean.
    setting = FOUND[name]["wall"].setting
    trials = wall_score.trained(board, board.plan(setting), str(setting["rate"]))
    view = act.compute(state_of(act, 1, revealed=True, **setting))
    assert view["data"]["steps"][-1]["text"].endswith(f"toy loss {trials.shown.losses[-1]:.3f}")
    shown = next(row["b"] for row in limits_of(view) if row["a"] == "Toy loss")
    assert shown == f"{wall_score.final_loss(trials.shown):.3f}"


def limits_of(view: Any) -> Any:
    return view["tables"]["limits"]["rows"]


NAMED = [words.lower() for words in audit.NAMES.values()]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_failure_names_no_position_of_a_lever_before_a_hint_is_asked_for(name: str, part: str) -> None:
    track = BY_NAME[name]
    board: Any = {"state-audit": track.audit, "pipeline-race": track.race, "scaling-wall": track.wall}[part]
    every = {"state-audit": 7, "pipeline-race": 11, "scaling-wall": 97}[part] * (1 if FULL else 6)
    failing = 0
    for setting in [start_of(board.levers), *list(settings(board.levers))[::every]]:
        told = failure_of(f"{part}: {name}", setting, hint=False)
        if told is None:
            continue
        failing += 1
        if told["title"] != "The mission refuses it":
            assert told["remedy"] == "", "a remedy is a hint, and comes on request"
        assert "costs nothing" in told["remedy"] or not told["remedy"]
        said = " ".join(told.values())
        # What a part of the memory or a stage is called may be a lever's name too; it is said as theirs.
        rest = re.sub("|".join(map(re.escape, [*NAMED, *(f": {box}." for box in track.race.boxes.values())])), "", said)
        labels = [rf"\b{re.escape(lever.label)}\b" for lever in board.levers]
        assert not [label for label in labels if re.search(label, rest, re.IGNORECASE)], said
        assert not named(board.levers, said), said
    assert failing


def test_the_rule_of_the_ear_says_how_much_sound_it_asks_for() -> None:
    assert tiny.SHORTEST == tiny.FRAMES / 2
    assert "less than half a second of sound" in tiny.SHORT
