"""What wins in the missions, as the search finds it: each can be solved, and what wins in one does not win in all."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docs.acts.missions import wall_score
from docs.acts.missions.facts import settings, start_of
from docs.acts.missions.found import FOUND
from tests.docs.missions import BY_NAME, FOLDERS, NAMES, PARTS, SCORES, audited, raced, searched, trials_of, walled
from tools import missions, missions_table
from tools.missions import TRACKS


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_down_is_what_the_search_finds(name: str, part: str) -> None:
    best, winning = searched()[name][part]
    written = FOUND[name][part]
    assert written.score == pytest.approx(best.score, rel=1e-6)
    assert (written.feasible, written.total) == (best.feasible, best.total)
    assert dict(written.setting) in winning


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_mission_can_be_solved_and_its_start_fails(name: str, part: str) -> None:
    levers, score = SCORES[name, part]
    best = searched()[name][part][0]
    assert score(start_of(levers)) is None
    assert 0 < best.feasible < best.total, "some settings count and some do not"
    assert score(best.setting) == pytest.approx(best.score)


def test_a_part_that_nothing_solves_is_told_with_what_is_in_the_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    track = BY_NAME["tiny"]
    hopeless = replace(track, race=replace(track.race, target=math.inf))
    monkeypatch.setattr(missions, "TRACKS", (hopeless,))
    with pytest.raises(SystemExit) as stopped:
        missions.main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    total = len(list(settings(hopeless.race.levers)))
    assert said.startswith(f"tiny race: none of {total} settings solves it: ")
    stopped_by = dict(re.findall(r"(\w+) (\d+)", said.split("solves it: ")[1]))
    assert sum(map(int, stopped_by.values())) == total
    assert set(stopped_by) <= {"rate", "refused"}


def test_the_search_prints_the_plans_that_only_the_seed_shown_loses(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(missions, "FILE", tmp_path / "found.py")
    monkeypatch.setattr(missions, "TRACKS", (BY_NAME["tiny"],))
    missions.main()
    assert f"    0 of {len(trials_of('tiny'))} plans within the other limits fail as drawn" in capsys.readouterr().out
    # With the worst training drawn in place of the middle one there are such plans.
    monkeypatch.setattr(wall_score.Trials, "shown", property(lambda trials: trials.runs[-1]))
    assert missions.betrayed(BY_NAME["tiny"])[0] > 0


@pytest.mark.parametrize("part", PARTS)
def test_no_option_that_most_tracks_offer_wins_wherever_it_is_offered(part: str) -> None:
    offered: dict[tuple[str, Any], list[bool]] = {}
    for name in NAMES:
        levers, _ = SCORES[name, part]
        winning = searched()[name][part][1]
        for lever in levers:
            for value in lever.values:
                wins = any(setting[lever.name] == value for setting in winning)
                offered.setdefault((lever.name, value), []).append(wins)
    # Part 3 of the tiny device has neither FP16 nor checkpointing, so there only what all tracks offer is compared.
    most = len(TRACKS) if part == "wall" else len(TRACKS) - 1
    common = {option: wins for option, wins in offered.items() if len(wins) >= most}
    assert len(common) >= 2, (
        f"{part}: of the options only {list(common)} are offered by {most} tracks; share two levers"
    )
    everywhere = [f"{lever} = {value}" for (lever, value), wins in common.items() if all(wins)]
    assert not everywhere, (
        f"{part}: no option may win on every track, for then it is a rule and no choice, and these do: "
        f"{', '.join(everywhere)}. Give a track a limit or a cost under which another option wins"
    )


@pytest.mark.parametrize("part", PARTS)
def test_winning_settings_differ_between_tracks(part: str) -> None:
    """Of two tracks, no setting that wins in one wins in the other, as far as the other has its levers."""
    for one in NAMES:
        for other in NAMES:
            if one < other:
                common = {lever.name for lever in SCORES[one, part][0]}
                common &= {lever.name for lever in SCORES[other, part][0]}
                left, right = (
                    {tuple((name, setting[name]) for name in sorted(common)) for setting in searched()[track][part][1]}
                    for track in (one, other)
                )
                assert left != right, (
                    f"{part}: in {one} and {other} the same settings win, as far as both have the levers "
                    f"{', '.join(sorted(common))}: {sorted(left, key=str)}. Their limits must ask for different ones"
                )


def test_the_table_has_a_line_for_each_part_and_the_time_that_a_script_needed(tmp_path: Path) -> None:
    times = tmp_path / "times.jsonl"
    lines = [{"name": "edge 2", "by": by, "seconds": 5.25} for by in ("mouse", "keyboard")]
    times.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    rows = list(missions_table.rows(searched(), missions_table.seconds(times)))
    assert [row[0] for row in rows] == [
        f"{track.title} {number}, {part}" for track in TRACKS for number, part in enumerate(FOLDERS, 1)
    ]
    [edge] = [row for row in rows if row[0] == "Edge Guardian 2, race"]
    assert edge[5] == "keyboard 5.2, mouse 5.2"
    assert all((row[5] == "not played") == (row is not edge) for row in rows)
    assert not [row for row in rows if row[2].startswith("solved")]
    assert {row[1].split()[0] for row in rows} >= {"memory", "the"}


@pytest.mark.parametrize("part", ["audit", "race"])
@pytest.mark.parametrize("name", NAMES)
def test_fewer_than_15_percent_of_the_settings_count(name: str, part: str) -> None:
    best = searched()[name][part][0]
    assert best.feasible / best.total < 0.15


def test_no_place_of_a_lever_is_best_in_every_race() -> None:
    """The middle filter was best everywhere once."""
    places = set()
    for name in NAMES:
        [lever] = [lever for lever in BY_NAME[name].race.levers if lever.name == "augmentation"]
        places.add(lever.values.index(FOUND[name]["race"].setting["augmentation"]))
    assert len(places) > 1


def test_neither_the_smallest_batch_nor_a_middle_one_is_best_in_every_audit() -> None:
    """Of those that offer a batch, the first place among the best ones: it was the smallest everywhere once."""
    places = set()
    for name in NAMES:
        for lever in (lever for lever in BY_NAME[name].audit.levers if lever.name == "batch"):
            places.add(lever.values.index(FOUND[name]["audit"].setting["batch"]))
    assert 0 in places
    assert max(places) > 0


@pytest.mark.parametrize("name", NAMES)
def test_winning_settings_and_no_others_accomplish_a_part(name: str) -> None:
    for part, view in (("audit", audited), ("race", raced), ("wall", walled)):
        levers, score = SCORES[name, part]
        _, winning = searched()[name][part]
        others = [setting for setting in list(settings(levers))[::17] if setting not in winning]
        for setting in (*winning[:3], *[one for one in others if score(one) is not None][:3]):
            title = view(name, **setting)["success"]["title"]
            assert (title in ("Mission accomplished", "The balance point")) == (setting in winning)


def test_the_walls_ask_for_different_things() -> None:
    """One trick wins nowhere: clipping, checkpointing and the rule for the rate each decide somewhere."""
    winning = {name: searched()[name]["wall"][1] for name in NAMES}

    def lost(name: str, lever: str, value: Any) -> bool:
        """Whether every winning setting loses with this lever moved."""
        return not any(wall_score.score(BY_NAME[name].wall, {**one, lever: value}) for one in winning[name])

    clipping = {name: {one["clip"] for one in winning[name]} for name in NAMES}
    assert {True} in clipping.values()
    assert {False} in clipping.values()
    assert [name for name in NAMES if {one.get("checkpointing") for one in winning[name]} == {True}]
    assert "root" in {one["rate"] for one in winning["cloud"]}
    assert lost("cloud", "rate", "linear")
    assert lost("edge", "rate", "root")
    starts = {wall_score.judged(BY_NAME[name].wall, start_of(BY_NAME[name].wall.levers))[1] for name in NAMES}
    assert len(starts) >= 3, "the walls begin before different limits"


@pytest.mark.parametrize("name", ["cloud", "edge", "mobile"])
def test_no_winning_setting_has_fp16_gradients_without_a_loss_scale(name: str) -> None:
    _, winning = searched()[name]["wall"]
    assert not [one for one in winning if (one["precision"], one["scaling"]) == ("fp16", "none")]


def test_more_devices_make_it_worse_for_the_cluster_and_zero_alone_saturates_the_network() -> None:
    _, winning = searched()["cloud"]["wall"]
    assert {setting["devices"] for setting in winning} == {512}
    assert "zero" not in {setting["layout"] for setting in winning}
