"""Reflections whose options are ranges of a number: what agrees with the number that the page shows is not wrong."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from docs.acts.missions import audit_reflection, race_reflection, wall_reflection
from docs.acts.missions.bands import Ranges, touched
from docs.acts.missions.facts import Stages, settings, start_of
from docs.acts.missions.found import FOUND
from docs.acts.missions.wall_score import exceeded, final_loss, trained
from explorable import live
from explorable.live.runtime.acts import LoadedAct
from tests.docs.acts import number, numbers, state_of
from tests.docs.missions import BY_NAME, NAMES, audit_act, audited, race_act, raced, wall_act, walled

MOST = 1
"""Settings of a mission that are asked of its act, of those in which the number that is shown lies in another range."""


def feedback(act: LoadedAct, blank: str, setting: dict[str, Any]) -> tuple[set[str], str]:
    """Which options of a blank are right, and the sentence of the first."""
    [reflection] = act.act.reflections
    [options] = [one.options for one in reflection.blanks if one.name == blank]
    state = state_of(act, 1.0, revealed=True, **setting)
    said: dict[str, Any] = {
        str(one.value): act.check(reflection.name, {blank: one.value}, state)[blank]  # type: ignore[call-overload, index]
        for one in options
    }
    return {name for name, one in said.items() if one["correct"]}, said[str(options[0].value)]["why"]


def test_a_number_on_an_edge_lies_in_both_ranges() -> None:
    ranges: Ranges = {"less": (0, 0.1), "more": (0.1, 1)}
    assert touched(ranges, 0.1) == touched(ranges, 0.099, 0.1) == touched(ranges, 0.104, 0.1) == ("less", "more")
    assert touched(ranges, 0.099) == ("less",)


@pytest.mark.parametrize("name", NAMES)
def test_no_wall_calls_wrong_what_agrees_with_the_share_that_it_shows(name: str) -> None:
    """The page said that the network is busy 10 %. It is 9.9 %, and "a tenth to a quarter" was not so."""
    act, wall, ranges, tried = wall_act(name), BY_NAME[name].wall, wall_reflection.SHARES, 0
    for setting in (FOUND[name]["wall"].setting, *settings(wall.levers)):
        share = wall.plan(setting).network
        if touched(ranges, share, round(share, 2)) == touched(ranges, share) or tried == MOST:
            continue
        tried += 1
        [row] = [row for row in walled(name, **setting)["tables"]["limits"]["rows"] if row["a"] == "Network"]
        shown = float(row["b"].removesuffix(" %"))
        right, why = feedback(act, "network", dict(setting))
        assert set(touched(ranges, share)) | set(touched(ranges, shown / 100)) == right
        assert numbers(why, "%")[0] == pytest.approx(100 * share, abs=0.05)
    assert tried or name != "edge"


@pytest.mark.parametrize("name", NAMES)
def test_no_race_calls_wrong_what_agrees_with_the_rates_that_it_shows(name: str) -> None:
    """No threshold stood in the options, and no number in the feedback."""
    act, race, ranges, tried = race_act(name), BY_NAME[name].race, race_reflection.GAINS, 0
    devices = next(lever.values for lever in race.levers if lever.name == "devices")
    for setting in settings(race.levers):
        twice = {**setting, "devices": 2 * int(setting["devices"])}
        gain = race.stages(twice).rate / race.stages(setting).rate
        edge = min(abs(gain - end) for ends in ranges.values() for end in ends) < 0.01
        if twice["devices"] not in devices or not edge or tried == MOST:
            continue
        tried += 1
        now, then = (number(raced(name, **one)["headline"]["value"]) for one in (setting, twice))
        right, why = feedback(act, "gain", setting)
        assert set(touched(ranges, gain)) | set(touched(ranges, then / now)) <= right
        assert numbers(why, "times")[0] == pytest.approx(gain, abs=0.005)
    [_, worth] = act.act.reflections[0].blanks
    for option in worth.options:
        ends = [end for end in ranges[str(option.value)] if end not in (0, float("inf"))]
        assert [1 + one / 100 for one in map(number, re.findall(r"(\d+)(?= to| %)", option.label))] == ends
    start = race.stages(start_of(race.levers))
    more = race.stages({**start_of(race.levers), "devices": 2 * int(start_of(race.levers)["devices"])})
    assert f"the rate is {more.rate / start.rate:.2f} times" in feedback(act, "gain", {})[1]


@pytest.mark.parametrize("name", NAMES)
def test_no_audit_calls_wrong_what_agrees_with_the_memory_that_it_shows(name: str) -> None:
    act, audit, ranges = audit_act(name), BY_NAME[name].audit, audit_reflection.RANGES
    said: Any = act.reveal(state_of(act, 12, revealed=True))
    [serving] = re.findall(r"take ([\d,.]+) ", said["paragraphs"][0])
    every = [start_of(audit.levers), *settings(audit.levers)]
    least = audit.account(every[0]).serving

    def far(setting: dict[str, Any]) -> float:
        times = audit.account(setting).need / least
        return min(abs(times / end - 1) for ends in ranges.values() for end in ends if 0 < end < float("inf"))

    for setting in sorted(every, key=far)[:MOST]:
        shown = number(audited(name, **setting)["headline"]["value"]) / number(serving)
        right, why = feedback(act, "times", setting)
        assert set(touched(ranges, shown)) <= right
        assert numbers(why, "times")[0] == pytest.approx(audit.account(setting).need / least, abs=0.005)


@pytest.mark.parametrize("name", NAMES)
def test_a_prediction_of_a_race_is_right_as_far_off_as_the_question_allows_of_what_it_shows(name: str) -> None:
    """The page showed 1.60, 1.5 was "0.10 short" and wrong: the answer was 1.6034."""
    act = race_act(name)
    told: Any = act.reveal(state_of(act, 1.0, revealed=True))
    shown = number(re.findall(r"[\d.]+(?= times)", told["headline"])[0])
    for off, right in ((-0.1, True), (0.1, True), (-0.12, False), (0.12, False)):
        said: Any = act.reveal(state_of(act, round(shown + off, 2), revealed=True))
        assert said["correct"] is right, (shown, off)


def test_a_loss_that_ends_above_where_it_began_is_called_either() -> None:
    """The box named a rate too high; "it explodes", whose reason is that rate, was not so."""
    act, wall, found = wall_act("cloud"), BY_NAME["cloud"].wall, 0
    for setting in settings(wall.levers):
        plan = wall.plan(setting)
        if exceeded(wall, plan) or found == MOST:
            continue
        trials = trained(wall, plan, str(setting["rate"]))
        if trials.obstacle == "loss" and final_loss(trials.shown) >= 1:
            found += 1
            assert feedback(act, "state", setting)[0] == {"loss", "exploded"}
    assert found


def test_poles_that_the_page_shows_as_busy_alike_are_both_the_longest() -> None:
    """Two boxes said 41 %, and naming the second was not so: they worked 41.5 and 41.3 % of the time."""
    race = BY_NAME["tiny"].race

    def poles(data: float, bus: float) -> object:
        stages = Stages(1.0, {"data": data, "bus": bus, "compute": 0.17}, 1.0)
        [reflection] = race_reflection.reflections(replace(race, stages=lambda _: stages))
        return reflection.correct(live.State("tiny", start_of(race.levers)))["pole"]

    assert poles(0.413, 0.4149) == ("data", "bus")
    assert poles(0.404, 0.4149) == ("bus",)
