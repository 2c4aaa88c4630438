"""Hands of a chart, such as handles and taps: an author's mistakes are one line each, correct hands are described."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import altair as alt
import pytest

from explorable import live
from explorable.live.build.bake import ChartError, checked, draw
from explorable.live.build.description import describe
from explorable.live.build.rehearsal import rehearse
from explorable.live.runtime.acts import ActError, LoadedAct
from explorable.live.runtime.validation import check_definition

BATCH = live.Slider("batch", "Batch", 1, 64, 4, scale="log", integer=True)
TABLE = live.Table("t", (live.Column("a", "A"),), [{"a": "1"}])


def compute(state: live.State) -> live.View:
    size = float(state.controls["batch"])
    said = state.held if state.prediction is None else state.prediction
    data: dict[str, tuple[live.Row, ...]] = {
        "bars": ({"from": 0, "to": size, "part": "a", "text": f"a {size:g}"},),
        "said": ({"to": said},),
    }
    return live.View(data, live.Figure("Sum", f"{size:g}", "GB"), "A sum.", {"chart": TABLE})


def reveal(prediction: live.Value, state: live.State) -> live.Verdict:
    return live.Verdict(False, "It is 5.", ())


ACT = live.Act(
    name="tiny-hand",
    title="Tiny",
    minutes=3,
    situation="There is a bar.",
    contexts=(live.Context("node", "Node", "80 GB"),),
    question=live.NumberQuestion("How much?", "GB", 0, 10, lambda: 5.0, step=0.5),
    controls=(BATCH, live.Toggle("on", "On", False)),
    compute=compute,
    reveal=reveal,
    charts={"chart": "A chart"},
    hands=(
        live.Handle("chart", "bars", "batch", "x", "to", origin="from"),
        live.Segments("chart", "bars", "part", "text"),
    ),
    staging=live.Staging("chart", (live.Beat(("bars",), {"part": "a"}),), {"batch": 8}),
)


def changed(**changes: Any) -> live.Act:
    return check_definition(dataclasses.replace(ACT, **changes), "tiny-hand")


def state(**changes: Any) -> dict[str, Any]:
    return {"context": "node", "controls": {"batch": 4, "on": False}, "prediction": None} | changes


def test_what_can_be_taken_in_hand_is_described_for_the_page_and_for_the_charts() -> None:
    described: Any = describe(LoadedAct(changed(), "act.py"))
    assert [hand["kind"] for hand in described["hands"]] == ["handle", "segments"]
    assert described["drawn"] == {"chart": {"marks": ["bars"], "axes": ["x"]}}
    assert described["controls"][0]["kind"] == "slider"
    assert described["staging"]["setting"] == {"batch": 8}


def test_two_answers_that_a_finger_cannot_tell_apart_stop_the_build() -> None:
    assert ACT.question is not None

    def asked(*beliefs: float, maximum: float = 10) -> LoadedAct:
        question = dataclasses.replace(ACT.question, beliefs=lambda: beliefs, maximum=maximum)  # type: ignore[type-var]
        return LoadedAct(changed(question=question), "act.py")

    rehearse(asked(0, 8))
    with pytest.raises(ActError, match=r"the answers 5 and 5\.8 lie 22 pixels apart on a phone, and 24 are needed"):
        rehearse(asked(0, 5.8))
    with pytest.raises(ActError, match=r"the answers 5 and 8 lie 8 pixels apart"):
        rehearse(asked(8, maximum=100))
    with pytest.raises(ValueError, match=r"the belief 11 is not a number that can be predicted: 0 to 10"):
        asked(11)


def test_the_scale_of_a_number_has_round_numbers_under_it() -> None:
    ends = ((0, 10), (0, 40), (1, 40), (0, 100), (0.8, 2.2), (0, 2000), (0, 0.3))
    for low, high in ends:
        question = live.NumberQuestion("How much?", "GB", low, high, lambda low=low: low + 0.1)  # type: ignore[misc]
        described: Any = describe(LoadedAct(changed(question=question), "act.py"))
        ticks = [float(tick["value"].replace(",", "")) for tick in described["question"]["ticks"]]
        assert 3 <= len(ticks) <= 7, (low, high, ticks)
        assert all(low <= tick <= high for tick in ticks)
        apart = {round(right - left, 6) for left, right in itertools.pairwise(ticks)}
        assert len(apart) == 1
        places = [tick["at"] for tick in described["question"]["ticks"]]
        assert places == pytest.approx([(tick - low) / (high - low) for tick in ticks], abs=1e-4)


def test_an_act_knows_what_the_reader_holds_and_has_not_locked_in() -> None:
    act = LoadedAct(changed(), "act.py")
    shown: Any = act.compute(state(held=2.5))
    assert shown["data"]["said"] == [{"to": 2.5}]
    with pytest.raises(ActError, match=r"prediction 11 is out of range; allowed: 0 to 10 GB"):
        act.compute(state(held=11))
    with pytest.raises(ActError, match=r"is out of range; allowed: 0 to 10 GB"):
        act.compute(state(held=10**400))


@pytest.mark.parametrize("value", [0, 65, 2.5, "4", True, None])
def test_a_slider_takes_nothing_but_numbers_between_its_ends(value: Any) -> None:
    with pytest.raises(ActError, match=r"control 'batch' cannot be"):
        LoadedAct(changed(), "act.py").compute(state(controls={"batch": value, "on": False}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"minimum": 64}, "the minimum 64 is not below the maximum 64"),
        ({"minimum": 0}, "a logarithmic scale needs a positive minimum, not 0"),
        ({"default": 100}, "control 'batch' cannot be 100; allowed: 1 to 64"),
        ({"default": 2.5}, "allowed: whole numbers"),
        ({"scale": "root"}, "scale 'root' is unknown; allowed: linear, log"),
        ({"step": 1.0}, "on a logarithmic scale there is none"),
        ({"maximum": float("inf")}, "finite numbers"),
    ],
)
def test_a_slider_that_cannot_be_set_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        changed(controls=(dataclasses.replace(BATCH, **change),))


@pytest.mark.parametrize(
    ("hand", "message"),
    [
        (
            live.Handle("other", "bars", "batch", "x", "to"),
            "Handle of chart 'other': the act has no such chart; charts: chart",
        ),
        (live.Handle("chart", "bars", "size", "x", "to"), "sets 'size', which is no control; controls: batch, on"),
        (live.Handle("chart", "bars", "on", "x", "to"), "a handle sets numbers, Tap is for toggles"),
        (live.Handle("chart", "bars", "batch", "x", "to", factor=0), "not a number other than zero"),
        (live.Handle("chart", "bars", "batch"), "needs the field it moves"),
        (live.Handle("chart", "bars", "batch", along="bars"), "needs the field it moves"),
    ],
)
def test_a_hand_on_something_that_does_not_exist_is_refused(hand: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        changed(hands=(hand,))


ADDING = live.Toggle("adam", "Adam 2 GB", False, group="Kept", adds=2.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"default": True}, "toggle 'adam' adds to the prediction: it needs a group, is off at first"),
        ({"group": ""}, "it needs a group"),
        ({"after_reveal": True}, "neither after_reveal nor display_only"),
        ({"adds": 11.0}, "the toggles add up to 0 to 11 GB; the question allows 0 to 10"),
        ({"adds": -1.0}, "the toggles add up to -1 to 0 GB; the question allows 0 to 10"),
    ],
)
def test_toggles_that_cannot_add_up_to_a_prediction_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        changed(controls=(*ACT.controls, dataclasses.replace(ADDING, **changes)))


def test_toggles_of_one_group_open_at_once() -> None:
    plain = dataclasses.replace(ADDING, name="plain", adds=None)
    with pytest.raises(ValueError, match="do not agree on whether they add to the prediction"):
        changed(controls=(*ACT.controls, ADDING, plain))


def test_toggles_add_only_to_a_number() -> None:
    options = (live.Option(1, "one"), live.Option(5, "five"))
    choice = live.ChoiceQuestion("How much?", options, "GB", lambda: 5.0)
    with pytest.raises(ValueError, match="the question does not ask for a number"):
        changed(controls=(*ACT.controls, ADDING), question=choice, hands=())


def test_two_handles_do_not_set_the_same() -> None:
    with pytest.raises(ValueError, match="two handles set 'batch'"):
        changed(hands=(ACT.hands[0], ACT.hands[0]))


@pytest.mark.parametrize(
    ("staging", "message"),
    [
        (live.Staging("other", (live.Beat(("bars",)),)), "staging: the act has no chart 'other'"),
        (live.Staging("chart", ()), "at least one beat"),
        (live.Staging("chart", (live.Beat(("bars",)),), {"size": 1}), "sets 'size', which is no control"),
        (live.Staging("chart", (live.Beat(("bars",)),), {"batch": 100}), "control 'batch' cannot be 100"),
    ],
)
def test_a_staging_that_cannot_be_played_is_refused(staging: live.Staging, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        changed(staging=staging)


def test_a_field_that_no_row_has_is_found_before_a_reader_finds_it() -> None:
    hands = (live.Segments("chart", "bars", "prat", "text"),)
    with pytest.raises(ActError, match="Segments of chart 'chart': it names the field 'prat', which no row has"):
        rehearse(LoadedAct(changed(hands=hands), "act.py"))
    rehearse(LoadedAct(changed(), "act.py"))


def test_a_playback_needs_its_steps_and_their_words() -> None:
    def act(*names: str) -> LoadedAct:
        return LoadedAct(changed(hands=(live.Playback("chart", *names),)), "act.py")

    rehearse(act("bars", "to", "text"))
    with pytest.raises(
        ActError, match="Playback of chart 'chart': compute returns no data set 'steps'; it returns: bars"
    ):
        rehearse(act("steps", "to", "text"))
    with pytest.raises(ActError, match="Playback of chart 'chart': it names the field 'words', which no row has"):
        rehearse(act("bars", "to", "words"))


def test_the_ends_of_a_slider_are_rehearsed() -> None:
    def breaks(given: live.State) -> live.View:
        if given.controls["batch"] == 64:
            raise ZeroDivisionError("at the end")
        return compute(given)

    with pytest.raises(ActError, match="ZeroDivisionError: at the end"):
        rehearse(LoadedAct(changed(compute=breaks), "act.py"))


def chart(name: str) -> Any:
    rows = alt.Chart(alt.InlineData(name="bars", values=[]))
    bars = rows.mark_rect().encode(x=alt.X("from:Q"), x2="to").properties(name=name)
    return draw(alt.layer(bars), {"bars": [{"from": 0, "to": 1}]}, "test")


def test_a_layer_or_an_axis_that_the_chart_lacks_stops_the_build() -> None:
    wanted = {"marks": ["bars"], "axes": ["x"]}
    assert checked("chart", chart("bars"), wanted)["svg"]
    with pytest.raises(ChartError, match=r"chart\(\) has no layer named 'bars'.*: barz"):
        checked("chart", chart("barz"), wanted)
    with pytest.raises(ChartError, match="no scale 'y' to drag along"):
        checked("chart", chart("bars"), {"marks": [], "axes": ["y"]})
