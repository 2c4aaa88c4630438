"""An act answers with plain data, tells no answer early, and a mistake in its definition is one line with a place."""

from __future__ import annotations

import dataclasses
import gc
import json
import math
import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorable import live
from explorable.live.build.description import describe
from explorable.live.build.rehearsal import rehearse
from explorable.live.runtime import acts
from explorable.live.runtime.acts import ActError, LoadedAct, load
from explorable.live.runtime.exchange import plain, state_of, text
from explorable.live.runtime.program import Program
from explorable.live.runtime.validation import check_definition


def compute(state: live.State) -> live.View:
    size = float(state.controls["layers"]) * (2.0 if state.controls["double"] else 1.0)
    table = live.Table("Sizes", (live.Column("gb", "Size", "GB", numeric=True),), [{"gb": f"{size:.1f}"}])
    return live.View({"bars": [{"gb": size}]}, live.Figure("Sum", f"{size:.1f}", "GB"), "A sum.", {"ledger": table})


def reveal(prediction: live.Value, state: live.State) -> live.Verdict:
    return live.Verdict(prediction == 12, "It is 12.", ("Because.",))


ACT = live.Act(
    name="tiny-act",
    title="Tiny",
    minutes=3,
    situation="There is a model.",
    contexts=(live.Context("node", "Node", "80 GB"), live.Context("laptop", "Laptop", "8 GB")),
    question=live.ChoiceQuestion(
        "How much?", (live.Option(3, "three", "too little"), live.Option(12, "twelve", "right")), "GB", lambda: 12.46
    ),
    controls=(
        live.Choice("layers", "Layers", (live.ControlOption(1.0, "1"), live.ControlOption(2.0, "2")), 1.0),
        live.Toggle("double", "Double", False),
    ),
    compute=compute,
    reveal=reveal,
    charts={"ledger": "The ledger"},
    reflections=(
        live.Reflection(
            "halves",
            "It is {size} because {reason}.",
            (
                live.Blank("size", "size", (live.Option(1, "1", "one is it"), live.Option(2, "2", "two is it"))),
                live.Blank("reason", "reason", (live.Option("a", "A", "because a"), live.Option("b", "B", "not b"))),
            ),
            lambda state: {"size": int(state.controls["layers"]), "reason": "a"},
        ),
    ),
)
LOADED = LoadedAct(ACT, "act.py")
STATE: dict[str, Any] = {"context": "node", "controls": {"layers": 2, "double": True}, "prediction": None}

SOURCE = """
from explorable.live import *

def compute(state):
    return View({"bars": []}, Figure("a", "1", "GB"), "s")

ACT = Act("tiny-act", "Tiny", 3, "s", (Context("c", "C", "d"),),
          NumberQuestion("How much?", "%", 0, 100, lambda: 35.0), (), compute,
          lambda prediction, state: Verdict(False, "h", ()), {})
"""


def test_the_default_state_is_the_first_context_and_the_defaults() -> None:
    described = describe(LOADED)
    assert isinstance(described, dict)
    controls = {"layers": 1.0, "double": False}
    nothing = {"prediction": None, "revealed": False, "held": None, "moves": 0, "hint": False}
    assert described["state"] == {"context": "node", "controls": controls, **nothing}


def test_the_description_gives_no_answer_away() -> None:
    text = json.dumps(describe(LOADED))
    for secret in ("too little", "right", "12.46", "one is it", "because a"):
        assert secret not in text
    assert "answer" not in text
    assert "why" not in text


def test_compute_returns_plain_data() -> None:
    view = LOADED.compute(STATE)
    assert isinstance(view, dict)
    assert view["data"] == {"bars": [{"gb": 4.0}]}
    assert view["headline"] == {"label": "Sum", "value": "4.0", "unit": "GB"}
    assert view["failure"] is None
    assert json.loads(json.dumps(view)) == view


def test_a_toggle_for_display_only_must_not_change_the_result() -> None:
    quiet = dataclasses.replace(
        ACT, controls=(ACT.controls[0], live.Toggle("double", "Double", False, display_only=True))
    )
    with pytest.raises(ActError, match="toggle 'double' is for display only, but moving it changes the result"):
        rehearse(LoadedAct(quiet, "act.py"))
    rehearse(LOADED)


@given(st.sampled_from(["node", "laptop"]), st.sampled_from([1, 2]), st.booleans())
def test_every_state_of_the_grid_is_computed(context: str, layers: int, double: bool) -> None:
    view: Any = LOADED.compute({"context": context, "controls": {"layers": layers, "double": double}})
    assert view["data"]["bars"][0]["gb"] == layers * (2 if double else 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"revealed": "yes"}, "revealed cannot be 'yes'; allowed: true, false"),
        ({"context": "phone"}, "unknown context 'phone'; allowed: node, laptop"),
        ({"controls": {"layers": 3, "double": True}}, "control 'layers' cannot be 3; allowed: 1.0, 2.0"),
        ({"controls": {"layers": True, "double": True}}, "control 'layers' cannot be True"),
        ({"controls": {"layers": 1, "double": 1}}, "control 'double' cannot be 1; allowed: True, False"),
        ({"controls": {"layers": 1}}, "control 'double' has no value"),
        ({"controls": {"layers": 1, "double": True, "depth": 1}}, "unknown control 'depth'; allowed: layers, double"),
        ({"controls": None}, "a state needs a context and controls"),
        ({"prediction": 4}, "prediction 4 is not an option; allowed: 3, 12"),
    ],
)
def test_a_state_that_does_not_exist_is_refused_in_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ActError) as raised:
        LOADED.compute({**STATE, **change})
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_values_come_back_as_the_definition_writes_them() -> None:
    state = state_of(ACT, {"context": "node", "controls": {"layers": 1, "double": False}})
    assert type(state.controls["layers"]) is float


def test_reveal_judges_the_prediction() -> None:
    verdict: Any = LOADED.reveal({**STATE, "prediction": 12})
    assert verdict["correct"] is True
    assert LOADED.reveal({**STATE, "prediction": 3}) != verdict


def test_reveal_needs_a_prediction() -> None:
    with pytest.raises(ActError, match="no prediction was made"):
        LOADED.reveal(STATE)


def test_feedback_follows_the_instruments() -> None:
    answers: dict[str, live.Value] = {"size": 2, "reason": "b"}
    assert LOADED.check("halves", answers, STATE) == {
        "size": {"correct": True, "why": "two is it"},
        "reason": {"correct": False, "why": "not b"},
    }
    one: Any = LOADED.check("halves", answers, {**STATE, "controls": {"layers": 1, "double": True}})
    assert one["size"]["correct"] is False


def test_of_several_values_that_are_equally_right_each_is() -> None:
    """A reflection once asked for the largest of two parts of one size, and called one of them wrong."""
    tied = LoadedAct(with_reflection(correct=lambda state: {"size": (1, 2), "reason": "a"}), "act.py")
    for size in (1, 2):
        feedback: Any = tied.check("halves", {"size": size}, STATE)
        assert feedback["size"]["correct"] is True


@pytest.mark.parametrize(
    ("reflection", "answers", "message"),
    [
        ("doubles", {}, "unknown reflection 'doubles'; allowed: halves"),
        ("halves", {"cause": "a"}, "unknown blank 'cause'; allowed: size, reason"),
        ("halves", {"size": 5}, "answer for 'size' 5 is not an option; allowed: 1, 2"),
    ],
)
def test_an_answer_that_does_not_exist_is_refused(reflection: str, answers: Any, message: str) -> None:
    with pytest.raises(ActError, match=message):
        LOADED.check(reflection, answers, STATE)


def with_question(**changes: Any) -> live.Act:
    assert ACT.question
    return dataclasses.replace(ACT, question=dataclasses.replace(ACT.question, **changes))


def with_control(control: live.Choice | live.Toggle) -> live.Act:
    return dataclasses.replace(ACT, controls=(*ACT.controls, control))


def with_reflection(**changes: Any) -> live.Act:
    return dataclasses.replace(ACT, reflections=(dataclasses.replace(ACT.reflections[0], **changes),))


TWO = (live.ControlOption(1, "1"), live.ControlOption(2, "2"))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (dataclasses.replace(ACT, name="other"), "the act is called 'other', but its folder says 'tiny-act'"),
        (dataclasses.replace(ACT, contexts=()), "needs at least one context"),
        (dataclasses.replace(ACT, situation="word " * 61), "words, and at most 60 stand before the next thing to do"),
        (with_reflection(text="{size} {reason} " + "word " * 60), "reflection 'halves': 62 words"),
        (dataclasses.replace(ACT, contexts=ACT.contexts[:1] * 2), "context 'node' appears twice"),
        (dataclasses.replace(ACT, charts={"the-ledger": "x"}), "'the-ledger' cannot be the name of a function"),
        (with_control(live.Toggle("double", "D", True)), "control 'double' appears twice"),
        (with_control(live.Toggle("t", "T", "yes")), "the default 'yes' is not True or False"),  # type: ignore[arg-type]
        (with_control(live.Choice("c", "C", TWO, 3)), "control 'c' cannot be 3; allowed: 1, 2"),
        (with_control(live.Choice("c", "C", TWO[:1], 1)), "needs at least two options"),
        (with_control(live.Choice("c", "C", TWO + TWO, 1)), "option 1 appears twice"),
        (with_question(answer=lambda: 7.5), "options 3 and 12 are equally near to the answer 7.5"),
        (with_question(answer=lambda: math.nan), "the answer is nan, not a finite number"),
        (with_question(options=(live.Option("a", "A"), live.Option("b", "B"))), "option 'a' is not a number"),
        (with_reflection(text="It is {size}."), "its text has the gaps size; its blanks are size, reason"),
        (
            with_reflection(correct=lambda state: {"size": 9, "reason": "a"}),
            "the right answer for 'size', 9 is not an option",
        ),
        (
            with_reflection(correct=lambda state: {"size": (1, 9), "reason": "a"}),
            "the right answer for 'size', 9 is not an option",
        ),
        (with_reflection(correct=lambda state: {"size": (), "reason": "a"}), "the right answer for 'size' is missing"),
        (with_reflection(correct=lambda state: {"size": 1}), "answers size; its blanks are size, reason"),
        (with_reflection(told=lambda state: {"weight": "It is 1."}), "tells of weight; its blanks are size, reason"),
        (
            dataclasses.replace(ACT, question=live.NumberQuestion("?", "%", 0, 10, lambda: 35.0)),
            "the answer 35.0 is outside 0 to 10",
        ),
        (
            dataclasses.replace(ACT, beside=tuple(ACT.charts)[:1]),
            "cannot stand beside the instruments: it is the data of a chart",
        ),
        (dataclasses.replace(ACT, best=1.0, score=None), "best cannot be 1.0"),
        (
            dataclasses.replace(ACT, best=0.0, score=lambda state: 1.0),
            "best cannot be 0.0: it is the best score, above 0",
        ),
        ("not an act", "ACT is a str, not an Act"),
    ],
)
def test_a_mistake_in_a_definition_is_named(act: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        check_definition(act, "tiny-act")
    assert "\n" not in str(raised.value)


def test_a_sound_definition_passes() -> None:
    assert check_definition(ACT, "tiny-act") is ACT
    rehearse(LOADED)


def test_a_compute_that_fails_for_another_option_than_the_default_is_found() -> None:
    def fails(state: live.State) -> live.View:
        if state.controls["layers"] != ACT.default_state().controls["layers"]:
            raise KeyError("no such row")
        return ACT.compute(state)

    broken = dataclasses.replace(ACT, compute=fails)
    with pytest.raises(ActError, match=r"with layers = \S+, double = False.*KeyError: 'no such row'"):
        rehearse(LoadedAct(broken, "act.py"))


def test_a_reveal_that_contradicts_the_engine_is_found() -> None:
    wrong = dataclasses.replace(ACT, reveal=lambda prediction, state: live.Verdict(prediction == 3, "h", ()))
    with pytest.raises(ActError, match="reveal calls 3 right; the option nearest to the answer is 12"):
        rehearse(LoadedAct(wrong, "act.py"))


def computing(change: Callable[[live.View], Any]) -> LoadedAct:
    return LoadedAct(dataclasses.replace(ACT, compute=lambda state: change(compute(state))), "act.py")


def bad_table(cells: dict[str, Any]) -> Callable[[live.View], Any]:
    return lambda view: dataclasses.replace(
        view, tables={"ledger": dataclasses.replace(view.tables["ledger"], rows=[cells])}
    )


def linking(links: dict[str, str]) -> Callable[[live.View], live.View]:
    """A view whose table has one cell, and these links."""
    table = live.Table("A table", (live.Column("what", "What"),), [{"what": "a cell"}], links)
    return lambda view: dataclasses.replace(view, tables={"ledger": table})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda view: {"data": {}}, "compute returned a dict, not a View"),
        (lambda view: dataclasses.replace(view, data={"b": [{"gb": math.inf}]}), "View.data['b'][0]['gb'] is inf"),
        (lambda view: dataclasses.replace(view, data={"b": [{"gb": 1j}]}), "View.data['b'][0]['gb'] is a complex"),
        (lambda view: dataclasses.replace(view, tables={}), "chart 'ledger' has no data table"),
        (bad_table({"mb": "1"}), "row 0: its cells are mb; its columns gb"),
        (bad_table({"gb": 1.0}), "'gb' is 1.0; a cell is formatted text"),
        (linking({"no cell": "chapter/run/"}), "links 'no cell', which is no cell of its columns of words"),
        (linking({"a cell": "https://example.org/"}), "a page of the site is written like chapter/run/#bills"),
        (linking({"a cell": "../run/"}), "a page of the site is written like chapter/run/#bills"),
    ],
)
def test_a_view_that_a_page_cannot_show_is_refused(change: Callable[[live.View], Any], message: str) -> None:
    with pytest.raises(ActError) as raised:
        computing(change).compute(STATE)
    assert message in str(raised.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_plain_data_passes_unchanged(value: object) -> None:
    assert plain(value, "value") == value
    assert json.loads(text(value, "value")) == value


@pytest.mark.parametrize(
    "value", [MappingProxyType({"a": 1}), live.Figure("Step", "1", "s"), (1, [range(3)]), {"a": ()}]
)
def test_a_frame_has_the_text_of_plain_data(value: object) -> None:
    assert json.loads(text(value, "View")) == plain(value, "View")


@pytest.mark.parametrize("value", [math.nan, {"a": [math.inf]}, {1, 2}, live.Figure("Step", "1", b"s")])  # type: ignore[arg-type]
def test_what_json_cannot_carry_is_refused_with_its_place(value: object) -> None:
    told = []
    for convert in (plain, text):
        with pytest.raises((TypeError, ValueError), match=r"^View") as raised:
            convert(value, "View")
        told.append(str(raised.value))
    assert told[0] == told[1]


def test_the_garbage_collector_does_not_scan_the_objects_of_an_act() -> None:
    before = gc.get_freeze_count()
    acts.load_act("tiny-act", Program({"act.py": SOURCE}).to_json())
    assert gc.isenabled()
    assert gc.get_freeze_count() > before
    with pytest.raises(ActError):
        acts.load_act("broken", Program({"act.py": "act = None"}).to_json())
    assert gc.isenabled()


def test_a_frame_during_a_drag_is_the_view_without_tables_ledger_and_score() -> None:
    acts.load_act("tiny-act", Program({"act.py": SOURCE}).to_json())
    described: Any = describe(acts.loaded("tiny-act"))
    state = json.dumps(described["state"])
    view, frame = json.loads(acts.compute("tiny-act", state)), json.loads(acts.frame("tiny-act", state))
    assert frame == {**view, "tables": {}, "ledger": {}, "score": None, "share": None}
    with pytest.raises(ActError, match="unknown context"):
        acts.frame("tiny-act", json.dumps({**described["state"], "context": "moon"}))


def test_frames_after_each_other_have_the_rows_of_their_own_states() -> None:
    kept: tuple[live.Row, ...] = ({"gb": 1.0},)

    def compute(state: live.State) -> live.View:
        layers = state.controls["layers"]
        drawn = {"none": (), "kept": kept, "new": ({"gb": layers},), "changed": listed}
        return live.View(drawn, live.Figure("Sum", "1", "GB"), "s")

    listed: list[live.Row] = []
    act = acts.LoadedAct(dataclasses.replace(ACT, compute=compute, charts={}), "act.py")
    for layers in (1.0, 2.0, 2.0, 1.0):
        listed.append({"gb": layers})
        state = {**STATE, "controls": {**STATE["controls"], "layers": layers}}
        view: Any = act.compute(state)
        assert json.loads(act.frame(state))["data"] == view["data"]


def test_an_act_is_loaded_from_its_source() -> None:
    acts.load_act("tiny-act", Program({"act.py": SOURCE}).to_json())
    described: Any = describe(acts.loaded("tiny-act"))
    ticks = [{"value": str(at), "at": at / 100} for at in range(0, 101, 20)]
    numbers = {"minimum": 0, "maximum": 100, "step": 0.0, "base": 0.0, "ticks": ticks}
    assert described["question"] == {"kind": "number", "prompt": "How much?", "unit": "%", **numbers}
    assert json.loads(acts.compute("tiny-act", json.dumps(described["state"])))["summary"] == "s"


@pytest.mark.parametrize(
    ("source", "message", "line"),
    [
        ("x = 1\ny = 1 / 0\n", r"loading: ZeroDivisionError: division by zero \(docs/acts/a/act.py, line 2\)", 2),
        ("x = 1\ny = (\n", "loading: SyntaxError: .*never closed", 2),
        ("x = 1\n", "it defines no ACT", 1),
        ("x = 1\nACT = x\n", "ACT is a int, not an Act", 2),
        (SOURCE.replace("lambda: 35.0", "lambda: 350.0"), "the answer 350.0 is outside 0 to 100", 7),
        (SOURCE.replace("lambda: 35.0", "lambda: 1 / 0"), "ZeroDivisionError", 8),
    ],
)
def test_a_mistake_in_a_source_has_its_line(source: str, message: str, line: int) -> None:
    with pytest.raises(ActError, match=message) as raised:
        load("tiny-act", Program({"docs/acts/a/act.py": source}))
    assert raised.value.line == line


def test_a_failing_compute_has_its_line() -> None:
    loaded = load("tiny-act", Program({"act.py": SOURCE.replace("return View", 'x = {}["a"]\n    return View')}))
    with pytest.raises(ActError, match=r"compute: KeyError: 'a' \(act.py, line 5\)") as raised:
        loaded.compute({"context": "c", "controls": {}})
    assert raised.value.line == 5


def test_an_act_that_was_not_loaded_is_named() -> None:
    with pytest.raises(ActError, match="act 'nowhere' is not loaded"):
        acts.compute("nowhere", "{}")


STAGES = "from explorable.live import View, Figure\n\ndef bar(size):\n    return [{'gb': 1 / size}]\n"
IN_PARTS = SOURCE.replace(
    "from explorable.live import *", "from explorable.live import *\nfrom .stages import bar"
).replace('"bars": []', '"bars": bar(SIZE)')


def in_parts(main: str, stages: str) -> Program:
    return Program({"docs/acts/a/act.py": main, "docs/acts/a/stages.py": stages})


@pytest.mark.parametrize("size", [2, 4])
def test_an_act_of_several_files_travels_as_one_document_and_is_loaded_anew(size: int) -> None:
    program = in_parts(IN_PARTS.replace("SIZE", str(size)), STAGES.replace("1 /", "8 /"))
    assert Program.from_json(program.to_json()) == program
    view: Any = load("tiny-act", program).compute({"context": "c", "controls": {}})
    assert view["data"]["bars"] == [{"gb": 8 / size}]


def test_an_error_in_a_module_beside_the_act_names_its_file_and_line() -> None:
    act = load("tiny-act", in_parts(IN_PARTS.replace("SIZE", "0"), STAGES))
    with pytest.raises(ActError, match=r"compute: ZeroDivisionError: .* \(docs/acts/a/stages.py, line 4\)"):
        act.compute({"context": "c", "controls": {}})
    with pytest.raises(ActError, match=r"loading: SyntaxError: .*\(docs/acts/a/"):
        load("tiny-act", in_parts(IN_PARTS, "def"))
