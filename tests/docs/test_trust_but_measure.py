"""Act 2: a hunt for the tensors of a block that are kept, against the engine's list and committed records."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from explorable.live import Value
from explorable.live.build.description import describe
from explorable.live.runtime.acts import LoadedAct
from explorable.live.runtime.measured import MeasuredRecord
from gpu_bench.cases.case import TrainingCase
from gpu_bench.cases.suites import SUITES
from ironlaw import GB, model, training_memory
from ironlaw.memory import chapter_activation_bytes
from ironlaw.numerics.dtypes import FP16, FP32
from tests.docs.acts import drawn, fixed_colors, hidden_texts, loaded, number, public_text, state_of, view_box

NAME = "trust-but-measure"
XL = "gpt2-xl amp-bf16 8 1024 flash 0.0 cuda"
NANO_FP32 = "nano fp32 8 128 flash 0.0 cpu"
KEPT = {"stream_1", "norm_1", "qkv", "result", "stream_2", "norm_2", "up", "gelu"}
"""What autograd saves of a block whose attention is fused: tests/engine/graph/test_saved_activations.py proves it."""
DROPPED = {"scores", "projection", "down"}


def kept(name: str, precision: str, batch: int, attention: Any = "flash") -> int:
    """What autograd saves by the engine, casts of weights left out."""
    ledger = training_memory(name, precision=precision, batch=batch, attention=attention)
    return ledger.saved_bytes - ledger.component("casts")


def record(
    case: str,
    model_name: str,
    activations: int | None,
    device: str = "nvidia-h200",
    changes: Mapping[str, Value | None] = MappingProxyType({}),
) -> MeasuredRecord:
    """A record as the build hands it over."""
    values: dict[str, Value | None] = {
        "case.model": model_name,
        "case.precision": "amp-bf16",
        "case.batch": 8,
        "case.sequence": 1024,
        "case.attention": "flash",
        "case.dropout": 0.0,
        "device.type": "cuda",
        "model.layers": 48,
        "model.hidden": 1600,
        "model.heads": 25,
        "model.vocab": 50257,
        "model.max_seq": 1024,
        "memory.held.activations": activations,
    }
    values |= changes
    return MeasuredRecord("gpt2", case, device, device.replace("-", " ").title(), "2025-11-20", "ok", values)


NANO: dict[str, Value | None] = {
    "case.precision": "fp32",
    "case.batch": 8,
    "case.sequence": 128,
    "device.type": "cpu",
    "model.layers": 4,
    "model.hidden": 256,
    "model.heads": 4,
    "model.vocab": 256,
    "model.max_seq": 256,
}
EXACT = kept("gpt2-xl", "amp-bf16", 8)
NANO_HELD = 70_403_076
"""What PyTorch held of the small model, as gpu_bench/results/smoke says."""


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    """The act without any record."""
    return loaded(NAME)


@pytest.fixture(scope="module")
def small() -> LoadedAct:
    """The act where only a small model was measured, on a CPU."""
    return loaded(NAME, record("gpt2-nano-fp32-sgd", "nano", NANO_HELD, "cpu", NANO))


@pytest.fixture(scope="module")
def measured() -> LoadedAct:
    """The act where GPUs were measured too: one configuration on two devices, and one that failed."""
    found = [
        record("gpt2-xl-amp-bf16-adamw-b8", "gpt2-xl", EXACT),
        record("gpt2-xl-amp-bf16-sgd-b8", "gpt2-xl", EXACT),
        record("gpt2-xl-amp-bf16-adamw-b8", "gpt2-xl", EXACT, "nvidia-a100"),
        record("gpt2-nano-fp32-sgd", "nano", NANO_HELD, "cpu", NANO),
        record("gpt2-xl-fp32-b4", "gpt2-xl", None, changes={"case.precision": "fp32", "case.batch": 4}),
    ]
    return loaded(NAME, *found)


def controls(act: LoadedAct) -> list[dict[str, Any]]:
    described: Any = describe(act)
    return list(described["controls"])


def options(act: LoadedAct) -> list[str]:
    return [option["value"] for option in controls(act)[-1]["options"]]


def adds(act: LoadedAct) -> dict[str, float]:
    """What each box adds to the prediction."""
    return {one["name"]: one["adds"] for one in controls(act) if one["kind"] == "toggle"}


def base(act: LoadedAct) -> float:
    described: Any = describe(act)
    return float(described["question"]["base"])


# ---- the hunt ----


@pytest.mark.parametrize("fixture", ["act", "small", "measured"])
def test_the_right_boxes_add_up_to_what_pytorch_keeps(fixture: str, request: pytest.FixtureRequest) -> None:
    act = request.getfixturevalue(fixture)
    assert set(adds(act)) == KEPT | DROPPED
    total = base(act) + sum(adds(act)[name] for name in KEPT)
    # The parts are rounded, the sum is not.
    assert total == pytest.approx(act.act.question.answer(), rel=0.001)
    verdict: Any = act.reveal(state_of(act, round(total, 2), revealed=True, **dict.fromkeys(KEPT, True)))
    assert verdict["correct"]
    assert verdict["paragraphs"][0] == f"You found {len(KEPT)} of {len(KEPT)}."


def test_one_box_too_many_or_too_few_is_not_right(small: LoadedAct) -> None:
    for name in KEPT | DROPPED:
        tapped = KEPT ^ {name}
        said = round(base(small) + sum(adds(small)[one] for one in tapped), 2)
        verdict: Any = small.reveal(state_of(small, said, revealed=True, **dict.fromkeys(tapped, True)))
        assert not verdict["correct"], name
        assert ("Missed" if name in KEPT else "Dropped, though") in verdict["paragraphs"][0]


def test_the_case_of_the_question_is_one_that_was_measured(small: LoadedAct, measured: LoadedAct) -> None:
    described: Any = describe(small)
    assert described["state"]["controls"]["configuration"] == NANO_FP32
    assert small.act.question
    assert small.act.question.answer() == pytest.approx(NANO_HELD / 1e6, rel=0.001)
    # The plainest case comes first: all tensors in one format. Else the largest.
    assert measured.act.default_state().controls["configuration"] == NANO_FP32
    only_xl = loaded(NAME, record("gpt2-xl-amp-bf16-adamw-b8", "gpt2-xl", EXACT))
    assert only_xl.act.default_state().controls["configuration"] == XL
    assert only_xl.act.question
    assert only_xl.act.question.answer() == pytest.approx(EXACT / GB)


@pytest.mark.parametrize("tapped", [set(), {"qkv", "scores"}, KEPT, KEPT | DROPPED])
def test_nothing_tells_what_is_kept_before_the_reveal(measured: LoadedAct, tapped: set[str]) -> None:
    known = public_text(measured)
    assert not [why for why in hidden_texts(measured) if why in known]
    for prediction in (None, 40.0):
        closed: Any = measured.compute(state_of(measured, prediction, **dict.fromkeys(tapped, True)))
        opened: Any = measured.compute(state_of(measured, 40.0, revealed=True, **dict.fromkeys(tapped, True)))
        data = closed["data"]
        assert not any(data[name] for name in ("kept", "judged", "engine", "dots", "gap", "book", "kinds"))
        assert opened["headline"]["value"] not in json.dumps(closed, ensure_ascii=False)
        # A kept box and a dropped one look the same.
        assert all(row["text"] for row in data["boxes"])
        assert {row["d"] for row in closed["tables"]["block"]["rows"]} == {"?"}


def test_the_readers_bar_follows_what_is_tapped(small: LoadedAct) -> None:
    empty: Any = small.compute(state_of(small))
    assert number(empty["headline"]["value"]) == pytest.approx(base(small), abs=0.01)
    held = base(small) + adds(small)["qkv"]
    shown: Any = small.compute({**state_of(small, qkv=True), "held": round(held, 2)})
    assert number(shown["headline"]["value"]) == pytest.approx(held, abs=0.01)
    assert [row["box"] for row in shown["data"]["boxes"] if row["tapped"]] == ["qkv"]
    assert shown["data"]["guess"][0]["to"] > empty["data"]["guess"][0]["to"]


def test_the_reveal_judges_every_box(small: LoadedAct) -> None:
    tapped = {"qkv", "gelu", "scores"}
    shown: Any = small.compute(state_of(small, 40, revealed=True, **dict.fromkeys(tapped, True)))
    judged = {row["box"]: row["state"] for row in shown["data"]["judged"]}
    assert {name for name, state in judged.items() if state == "found"} == tapped & KEPT
    assert {name for name, state in judged.items() if state == "missed"} == KEPT - tapped
    assert {name for name, state in judged.items() if state == "wrong"} == tapped & DROPPED
    assert {row["box"] for row in shown["data"]["kept"]} == KEPT
    bars = shown["data"]
    assert bars["dots"][0]["at"] == pytest.approx(bars["engine"][0]["to"], rel=0.001)
    assert bars["gap"][0]["text"].endswith("MB short")


def test_beside_a_boxs_name_there_is_room_for_its_number_in_every_configuration(measured: LoadedAct) -> None:
    """A box has room for 19 characters. "Weighted values" once ran into "0.60 GB"."""
    described: Any = describe(measured)
    (control,) = (one for one in described["controls"] if one["name"] == "configuration")
    units = set()
    for option in control["options"]:
        asked = state_of(measured, 40, revealed=True, configuration=option["value"])
        shown: Any = measured.compute(asked)
        names = {row["box"]: row["label"] for row in shown["data"]["boxes"]}
        for row in shown["data"]["judged"]:
            assert len(f"{names[row['box']]} {row['text']}") <= 19, option
        units.add(shown["data"]["heads"][0]["text"].split(", ")[1])
    assert units == {"MB", "GB"}


def test_a_change_of_configuration_changes_every_size_that_is_shown_and_the_check_boxes_say_whose_they_show(
    measured: LoadedAct,
) -> None:
    """Caption and check boxes once kept the sizes of the configuration before."""
    labels = {o["value"]: o["label"] for o in controls(measured)[-1]["options"]}
    captions, sizes = set(), set()
    for key, label in labels.items():
        view: Any = measured.compute(state_of(measured, configuration=key))
        table = view["tables"]["block"]
        assert table["caption"].endswith(label)
        assert view["summary"].startswith(label)
        heads = [row["text"].rsplit(", ", 1)[1] for row in view["data"]["heads"]]
        by_row = [f"{row['text']} {heads[row['column']]}" for row in view["data"]["boxes"]]
        scale = {"GB": GB, "MB": 1e6, "KB": 1e3}
        for drawn_size, row in zip(by_row, table["rows"], strict=True):
            one, other = (number(text.split()[0]) * scale[text.split()[1]] for text in (drawn_size, row["b"]))
            unit = scale[drawn_size.split()[1]]
            assert one == pytest.approx(other, rel=0.02, abs=0.006 * unit)
        captions.add(table["caption"])
        sizes.add(tuple(row["b"] for row in table["rows"]))
    assert len(captions) == len(labels) > 2
    assert len(sizes) > 1
    # A check box adds to the prediction, which is about the question's case, and says that its size is that.
    for control in controls(measured):
        if control["kind"] == "toggle":
            assert control["group"].endswith("with the question's sizes")
            assert f"{control['adds']:.2f}" in control["label"]


def test_in_written_out_attention_the_scores_are_kept() -> None:
    changes = {"case.attention": "standard"}
    held = kept("gpt2-xl", "amp-bf16", 8, "standard")
    act = loaded(NAME, record("a", "gpt2-xl", EXACT), record("b", "gpt2-xl", held, changes=changes))
    standard = next(value for value in options(act) if "standard" in value)
    shown: Any = act.compute(state_of(act, 40, revealed=True, configuration=standard))
    assert "scores" in {row["box"] for row in shown["data"]["kept"]}
    assert number(shown["headline"]["value"]) == pytest.approx(held / GB, abs=0.006)


# ---- configurations ----


def test_without_records_the_benchmarks_own_gpu_cases_are_on_offer(act: LoadedAct) -> None:
    fields = ("model", "precision", "batch", "sequence", "attention", "dropout")
    cases = [case.as_dict() for case in SUITES["first-hour"] if isinstance(case, TrainingCase)]
    planned = {" ".join(str(case[name]) for name in fields) + " cuda" for case in cases}
    assert set(options(act)) <= planned
    for value in options(act):
        shown: Any = act.compute(state_of(act, 2, revealed=True, configuration=value))
        assert not shown["data"]["dots"]
        row = shown["tables"]["count"]["rows"][-1]
        assert (row["a"], row["b"]) == ("Measured ●", "not measured yet")
        assert row["e"] == "python -m gpu_bench run --suite first-hour"


def test_measured_configurations_are_on_offer_once_each(measured: LoadedAct) -> None:
    found = options(measured)
    assert len(found) == len(set(found))
    assert found[0] == NANO_FP32, "the question's case comes first"
    assert found[1] == XL


def test_a_record_stands_beside_the_counts_with_its_device_and_day(measured: LoadedAct) -> None:
    shown: Any = measured.compute(state_of(measured, 2, revealed=True, configuration=XL))
    rows = shown["tables"]["count"]["rows"]
    lines = [row for row in rows if row["a"] == "Measured ●"]
    assert [row["e"] for row in lines] == [
        "Nvidia H200, 2025-11-20, gpt2/gpt2-xl-amp-bf16-adamw-b8",
        "Nvidia A100, 2025-11-20, gpt2/gpt2-xl-amp-bf16-adamw-b8",
    ]
    assert {row["d"] for row in lines} == {"1.000"}
    assert len(shown["data"]["dots"]) == 2
    assert "measured ●" in shown["data"]["engine"][0]["text"]
    assert "(Nvidia H200" in shown["summary"]


def test_a_run_that_was_not_measured_leaves_no_number(measured: LoadedAct) -> None:
    shown: Any = measured.compute(
        state_of(measured, 2, revealed=True, configuration="gpt2-medium amp-bf16 4 1024 flash 0.0 cuda")
    )
    assert "measured" not in shown["data"]["engine"][0]["text"]
    assert not shown["data"]["dots"]


def test_the_reveal_says_how_well_records_confirm_the_engine(act: LoadedAct, measured: LoadedAct) -> None:
    unmeasured: Any = act.reveal(state_of(act, 2))
    assert any("not measured yet" in one for one in unmeasured["paragraphs"])
    confirmed: Any = measured.reveal(state_of(measured, 2))
    (said,) = (one for one in confirmed["paragraphs"] if "records" in one)
    assert "3 records" in said
    assert "the machine held what the engine says, to a tenth of a percent" in said


def test_several_ratios_are_told_as_a_range() -> None:
    low = record("gpt2-nano-fp32-sgd", "nano", 60_000_000, "cpu", NANO)
    act = loaded(NAME, record("gpt2-xl-amp-bf16-adamw-b8", "gpt2-xl", EXACT), low)
    verdict: Any = act.reveal(state_of(act, 2))
    assert any(re.search(r"between 0\.\d{3} and 1\.000 times what", one) for one in verdict["paragraphs"])


# ---- the counts ----


def test_three_counts_agree_with_the_engine_in_every_configuration(act: LoadedAct) -> None:
    for value in options(act):
        name, precision, batch = value.split()[:3]
        dtype = FP32 if precision == "fp32" else FP16
        book = chapter_activation_bytes(model(name), int(batch), 1024, dtype)
        exact = kept(name, precision, int(batch))
        shown: Any = act.compute(state_of(act, 3, revealed=True, configuration=value))
        assert number(shown["headline"]["value"]) == pytest.approx(exact / GB, abs=0.006)
        first, second = shown["tables"]["count"]["rows"][:2]
        assert number(first["b"].split()[0]) == pytest.approx(book / GB, abs=0.006)
        assert number(second["b"].split()[0]) == pytest.approx(exact / GB, abs=0.006)
        bars = shown["data"]
        scale = bars["engine"][0]["to"] / exact
        assert bars["book"][0]["at"] == pytest.approx(book * scale)
        assert max(bars["guess"][0]["to"], bars["engine"][0]["to"], bars["book"][0]["at"]) <= 100


def test_kinds_of_tensors_sum_to_all_and_none_is_left_unnamed(act: LoadedAct) -> None:
    for value in options(act):
        shown: Any = act.compute(state_of(act, 2, revealed=True, configuration=value))
        assert sum(row["share"] for row in shown["data"]["kinds"]) == pytest.approx(100)
        # A reader who adds up what is shown finds the sum that is shown.
        *rows, whole = shown["tables"]["tensors"]["rows"]
        sizes = [
            float(text) * {"GB": 1, "MB": 1e-3}[unit] for text, unit in (row["b"].split() for row in [*rows, whole])
        ]
        digits = 2 if whole["b"].endswith("GB") else 5
        assert round(sum(sizes[:-1]), digits) == sizes[-1]
        # Percents are rounded each for itself: none is bent so that all come to 100.
        for row, bar in zip(rows, shown["data"]["kinds"], strict=True):
            assert bar["text"].endswith(f", {bar['share']:.0f} %")
            assert float(row["c"]) == round(bar["share"], 1)
        rest = next(row for row in shown["data"]["kinds"] if row["kind"] == "rest")
        assert rest["share"] < 1
        counted = next(row for row in shown["data"]["kinds"] if row["kind"] == "counted")
        assert 25 < counted["share"] < 55


@pytest.mark.parametrize("fixture", ["act", "small"])
def test_the_reflection_names_what_the_readers_configuration_shows(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    act = request.getfixturevalue(fixture)
    for value in options(act):
        at = state_of(act, 2, revealed=True, configuration=value)
        shown: Any = act.compute(at)
        forgotten = {r["kind"]: r["share"] for r in shown["data"]["kinds"] if r["kind"] not in ("counted", "rest")}
        largest = max(forgotten, key=lambda kind: forgotten[kind])
        whole = sum(forgotten.values())
        share = "little" if whole <= 50 else "half" if whole <= 65 else "most" if whole <= 80 else "nearly"
        # No configuration is so near to the edge of a range that the shown numbers do not tell which one it is in.
        assert min(abs(whole - edge) for edge in (50, 65, 80)) > 1
        feedback: Any = act.check("missed", {"kind": largest, "share": share, "why": "backward"}, at)
        assert all(feedback[name]["correct"] for name in ("kind", "share", "why"))
        wrong: Any = act.check("missed", {"kind": "scores", "share": "nearly", "why": "leak"}, at)
        assert not any(wrong[name]["correct"] for name in ("kind", "share", "why"))
        assert wrong["share"]["why"] != feedback["share"]["why"]


@pytest.mark.parametrize("chart", ["block", "tensors"])
def test_charts_use_the_pages_colors_and_keep_their_size(measured: LoadedAct, chart: str) -> None:
    views: list[Any] = [measured.compute(state_of(measured)), measured.compute(state_of(measured, 50, qkv=True))]
    views += [
        measured.compute(state_of(measured, 50, revealed=True, configuration=value)) for value in options(measured)
    ]
    drawings = [drawn(NAME, chart, view["data"]) for view in views]
    assert not [color for svg in drawings for color in fixed_colors(svg)]
    assert len({view_box(svg) for svg in drawings}) == 1
