"""The missions: each can be solved, each start fails, and what wins in one does not win in all."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from docs.acts.missions import audit_score
from docs.acts.missions.facts import Levers, Setting, Track, settings, start_of
from docs.acts.missions.found import FOUND
from docs.acts.missions.tracks import TRACKS
from plugins.live.runtime.acts import LoadedAct
from tests.docs.acts import drawn, fixed_colors, hidden_texts, loaded, public_text, state_of, view_box
from tools import missions

NAMES = [track.name for track in TRACKS]
BY_NAME = {track.name: track for track in TRACKS}
SCORES: dict[str, Callable[[Track], tuple[Levers, Callable[[Setting], float | None]]]] = {
    "audit": lambda track: (track.audit.levers, lambda setting: audit_score.score(track.audit, setting)),
}
PARTS = list(SCORES)


@cache
def searched() -> Any:
    return missions.search()


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
    levers, score = SCORES[part](BY_NAME[name])
    best = searched()[name][part][0]
    assert score(start_of(levers)) is None
    assert 0 < best.feasible < best.total, "some settings count and some do not"
    assert score(best.setting) == pytest.approx(best.score)


@pytest.mark.parametrize("part", PARTS)
def test_no_option_that_most_tracks_offer_wins_wherever_it_is_offered(part: str) -> None:
    offered: dict[tuple[str, Any], list[bool]] = {}
    for name in NAMES:
        levers, _ = SCORES[part](BY_NAME[name])
        winning = searched()[name][part][1]
        for lever in levers:
            for value in lever.values:
                wins = any(setting[lever.name] == value for setting in winning)
                offered.setdefault((lever.name, value), []).append(wins)
    common = {option: wins for option, wins in offered.items() if len(wins) >= 3}
    assert len(common) >= 3
    assert not [option for option, wins in common.items() if all(wins)]


@pytest.mark.parametrize("part", PARTS)
def test_winning_settings_differ_between_tracks(part: str) -> None:
    """Of two tracks, no setting that wins in one wins in the other, as far as the other has its levers."""
    for one in NAMES:
        for other in NAMES:
            if one < other:
                common = {lever.name for lever in SCORES[part](BY_NAME[one])[0]}
                common &= {lever.name for lever in SCORES[part](BY_NAME[other])[0]}
                left, right = (
                    {tuple((name, setting[name]) for name in sorted(common)) for setting in searched()[track][part][1]}
                    for track in (one, other)
                )
                assert left != right


# ---- part 1 ----


@cache
def audit_act(name: str) -> LoadedAct:
    return loaded(f"{name}-state-audit")


def audited(name: str, **controls: Any) -> Any:
    act = audit_act(name)
    return act.compute(state_of(act, 16, revealed=True, **controls))


@pytest.mark.parametrize("name", NAMES)
def test_an_audit_fails_exactly_where_it_does_not_count_and_its_advice_helps(name: str) -> None:
    audit = BY_NAME[name].audit
    for setting in list(settings(audit.levers))[:: 1 if name != "cloud" else 7]:
        view = audited(name, **setting)
        assert (view["failure"] is None) == (view["score"] is not None) == (view["success"] is not None)
        bars = [row for row in view["data"]["bars"] if row["part"] != "need"]
        assert all(left["to"] == right["from"] for left, right in pairwise(bars))
        if view["failure"] and "One change" in view["failure"]["remedy"]:
            changed = [
                {**setting, lever.name: value}
                for lever in audit.levers
                for value in lever.values
                if audit_score.score(audit, {**setting, lever.name: value}) is not None
            ]
            assert changed


@pytest.mark.parametrize("name", NAMES)
def test_adam_in_fp32_keeps_four_times_the_weights_that_learn(name: str) -> None:
    audit = BY_NAME[name].audit
    account = audit.account({**start_of(audit.levers), "precision": "fp32", "optimizer": "adam"})
    parts = account.parts
    assert parts["optimizer"] == pytest.approx(2 * parts["gradients"], rel=0.01)
    static = sum(parts[part] for part in ("weights", "gradients", "optimizer"))
    assert static == pytest.approx(4 * parts["weights"], rel=0.01)


def test_what_binds_differs_between_the_audits() -> None:
    """The largest part at the best setting, and what the start is refused for."""
    kinds = set()
    for track in TRACKS:
        account = track.audit.account(FOUND[track.name]["audit"].setting)
        share = {part: held / account.need for part, held in account.parts.items()}
        kinds.add((max(share, key=lambda part: share[part]), track.audit.account(start_of(track.audit.levers)).fits))
    assert len(kinds) >= 2
    edge = BY_NAME["edge"].audit
    account = edge.account({**start_of(edge.levers), "batch": 8})
    assert account.fits
    assert account.refused, "on the Orin memory is not the limit: the range of FP16 is"


@pytest.mark.parametrize("name", NAMES)
def test_an_audit_tells_nothing_before_the_lock_and_draws_in_the_page_colors(name: str) -> None:
    act = audit_act(name)
    public = public_text(act)
    assert not [text for text in hidden_texts(act) if text and text in public]
    described: Any = act.describe()
    closed: Any = act.compute(described["state"])
    assert closed["data"]["bars"] == []
    assert closed["headline"]["value"] == "?"
    view = audited(name)
    boxes = set()
    for chart in ("each", "waterfall"):
        for data in (closed["data"], view["data"]):
            svg = drawn(f"{name}-state-audit", chart, data)
            assert not fixed_colors(svg)
            boxes.add((chart, view_box(svg)))
    assert len(boxes) == 2, "the frame does not move"
