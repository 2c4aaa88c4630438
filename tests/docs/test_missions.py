"""What pages and acts of the missions tell: every track, every part, how far from the best."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from docs.acts.missions import cloud_race, cloud_wall, edge_wall, mobile_wall, tiny, tiny_race
from docs.acts.missions.facts import settings, start_of
from docs.acts.missions.found import FOUND
from ironlaw import accelerator
from tests.docs.acts import loaded, state_of
from tests.docs.missions import BY_NAME, FOLDERS, NAMES, PARTS, audited, raced, wall_act, walled
from tools.missions import TRACKS

DEFENSE = Path(__file__).parents[2] / "docs" / "missions" / "defense.md"


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_reader_is_told_how_far_they_are_from_the_best(name: str, part: str) -> None:
    act = loaded(f"{FOLDERS[part]}: {name}")
    best: Any = act.compute(state_of(act, 1, revealed=True, **FOUND[name][part].setting))
    start: Any = act.compute(state_of(act, 1, revealed=True))
    assert best["share"] == pytest.approx(1, rel=1e-6)
    assert start["share"] is None, "the start does not count"


@pytest.mark.parametrize("name", NAMES)
def test_the_share_of_the_best_is_told_with_the_score_that_it_is_of(name: str) -> None:
    """It stood in the caption of the memory, as if it were a share of that; races show a rate and count its price."""
    best = FOUND[name]
    audit: Any = audited(name, **best["audit"].setting)
    assert re.search(r"\(learning speed [\d.,]+, 100\s% of the best found\)", audit["headline"]["label"])
    worth = BY_NAME[name].race.worth[0]
    race: Any = raced(name, 1, **best["race"].setting)
    assert re.search(rf"\([\d.,]+ {worth}, 100\s% of the best found", race["headline"]["label"])
    wall: Any = walled(name, **best["wall"].setting)
    assert wall["headline"]["label"].endswith("100\u00a0% of the best MFU found)")


def test_what_is_assumed_of_a_device_is_marked_where_the_devices_are_compared() -> None:
    page = (DEFENSE.parent / "index.md").read_text(encoding="utf-8")
    of = {"usable_bytes": "memory", "peak": "peaks", "bandwidth": "bandwidth", "tdp": "power"}
    shown = re.findall(r'(≈ )?`\{engine\} accelerator\("([^"]+)"\)\.(\w+)', page)
    assert len(shown) == len(of) * len(TRACKS)
    for mark, name, figure in shown:
        assert bool(mark) == (of[figure] in accelerator(name).assumed), (name, figure)
    assert any(mark for mark, *_ in shown)


def test_the_picture_of_the_devices_has_every_track() -> None:
    path = DEFENSE.parents[1] / "chapter" / "figures" / "mission_devices.py"
    picture = runpy.run_path(str(path))
    assert list(picture["DEVICES"]) == [track.title for track in TRACKS]
    links = (cloud_wall.NETWORK, edge_wall.UPLINK.name, mobile_wall.LINKS["bluetooth"].name, tiny.RADIO.name)
    assert tuple(link for _, link in picture["DEVICES"].values())[: len(links)] == links
    said = picture["draw"]().alternative
    assert all(said.count(track.title) == 3 for track in TRACKS)


def test_the_picture_of_the_explosion_names_the_batch_of_its_cause() -> None:
    """The batch beyond FP16 was once marked as the strange one, which is another cause."""
    picture = runpy.run_path(str(DEFENSE.parents[1] / "chapter" / "figures" / "explosion_by_update.py"))
    for cause, name in picture["CAUSES"].items():
        svg = picture["draw"](cause, "none", 14).figure.svg()
        marked = [mark for mark in picture["MARKS"].values() if mark in svg]
        assert [f"a{mark.removeprefix('the')}" for mark in marked] == ([name.split(",")[0]] if cause != "rate" else [])


def test_the_defense_lists_every_part_of_every_track() -> None:
    listed = re.findall(r'data-act="([^"]+)"', DEFENSE.read_text(encoding="utf-8"))
    assert listed == [f"{name}-{folder}" for name in NAMES for folder in FOLDERS.values()]


def test_the_list_of_missions_promises_what_their_boards_ask() -> None:
    """It said "ten times as long", where the race begins 2.05 times too slow, and "only a batch of one fits"."""
    page = (DEFENSE.parent / "index.md").read_text(encoding="utf-8")
    race = BY_NAME["cloud"].race
    late = (race.target / race.stages(start_of(race.levers)).rate - 1) * cloud_race.DEADLINE_DAYS
    assert "Training will end months late" in page
    assert 60 < late < 365
    fitting = {one["batch"] for one in settings(BY_NAME["tiny"].audit.levers) if tiny.audit(one).fits}
    assert len(fitting) > 1
    assert "on a milliwatt, in the memory that sound and radio leave" in page
    assert tiny_race.BUDGET == 1e-3
    assert not re.search(r"batch of one|times as long", page)


def test_the_story_of_the_cluster_is_that_of_its_bench() -> None:
    """$10,000 an hour was no price of these GPUs, and 95 % was not how busy the network is."""
    track = BY_NAME["cloud"]
    rent = accelerator("h100-sxm").rent
    assert rent is not None
    dollars = f"${start_of(track.audit.levers)['gpus'] * rent.dollars:,.0f} an hour"  # type: ignore[operator]
    assert dollars in track.audit.situation

    busy = 100 * track.wall.plan(start_of(track.wall.levers)).network
    assert f"saturated {busy:.0f} % of the time" in wall_act("cloud").act.situation
    verdict: Any = wall_act("cloud").reveal(state_of(wall_act("cloud"), 1, revealed=True))
    assert verdict["headline"].startswith("It stays the same. You said so.")
