"""Act 3: the textbook's count, the engine's tensors and committed records, side by side and never confused."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from engine import GB, model, training_memory
from engine.memory import chapter_activation_bytes
from engine.numerics.dtypes import FP16, FP32
from gpu_bench.cases.suites import SUITES
from plugins.live import Value
from plugins.live.runtime.acts import LoadedAct
from plugins.live.runtime.records import MeasuredRecord
from tests.docs.acts import drawn, fixed_colors, hidden_texts, loaded, number, public_text, state_of, view_box

NAME = "trust-but-measure"
PREDICTIONS = (0.1, 1, 2, 2.4, 3, 10, 50)
XL = "gpt2-xl amp-bf16 8 1024 flash 0.0 cuda"


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


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded(NAME)


@pytest.fixture(scope="module")
def measured() -> LoadedAct:
    """The act where three runs have been measured: one configuration on two devices, a small model, one that failed."""
    found = [
        record("gpt2-xl-amp-bf16-adamw-b8", "gpt2-xl", EXACT),
        record("gpt2-xl-amp-bf16-sgd-b8", "gpt2-xl", EXACT),
        record("gpt2-xl-amp-bf16-adamw-b8", "gpt2-xl", EXACT, "nvidia-a100"),
        record("gpt2-nano-amp-bf16-adam", "nano", 30_000_000, "cpu", NANO),
        record("gpt2-xl-fp32-b4", "gpt2-xl", None, changes={"case.precision": "fp32", "case.batch": 4}),
    ]
    return loaded(NAME, *found)


def options(act: LoadedAct) -> list[str]:
    described: Any = act.describe()
    return [option["value"] for option in described["controls"][0]["options"]]


# ---- the question ----


def test_the_answer_is_the_engines_count_over_the_textbooks(act: LoadedAct) -> None:
    question = act.act.question
    assert question
    book = chapter_activation_bytes(model("gpt2-xl"), 32, 1024, FP16)
    assert question.answer() == pytest.approx(kept("gpt2-xl", "amp-bf16", 32) / book)
    assert 2 < question.answer() < 3


@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_a_prediction_within_a_factor_of_a_fifth_is_right(act: LoadedAct, prediction: float) -> None:
    verdict: Any = act.reveal(state_of(act, prediction))
    question = act.act.question
    assert question
    factor = max(prediction / question.answer(), question.answer() / prediction)
    assert verdict["correct"] == (factor <= 1.2)
    assert f"{question.answer():.2f} times" in verdict["headline"]
    if not verdict["correct"]:
        said = "that is {} times what you said" if prediction < question.answer() else "what you said is {} times that"
        assert said.format(f"{factor:.1f}") in verdict["headline"]


@pytest.mark.parametrize("prediction", [None, *PREDICTIONS])
def test_nothing_tells_the_engines_count_before_the_reveal(measured: LoadedAct, prediction: float | None) -> None:
    known = public_text(measured)
    assert not [why for why in hidden_texts(measured) if why in known]
    for value in options(measured):
        closed: Any = measured.compute(state_of(measured, prediction, configuration=value))
        opened: Any = measured.compute(state_of(measured, 2, revealed=True, configuration=value))
        assert not closed["data"]["parts"]
        assert not closed["data"]["dots"]
        assert {row["share"] for row in closed["data"]["kinds"]} == {0}
        exact = opened["tables"]["count"]["rows"][1]["b"]
        assert exact not in json.dumps(closed, ensure_ascii=False)


def test_before_the_reveal_the_bench_shows_what_the_prediction_makes_of_the_textbooks_count(act: LoadedAct) -> None:
    for value in options(act):
        name, precision, batch = value.split()[:3]
        book = chapter_activation_bytes(model(name), int(batch), 1024, FP32 if precision == "fp32" else FP16)
        shown: Any = act.compute(state_of(act, 3, configuration=value))
        assert number(shown["headline"]["value"]) == pytest.approx(3 * book / GB, abs=0.006)
        assert shown["data"]["guess"][0]["to"] == pytest.approx(3 * shown["data"]["book"][0]["to"])


# ---- configurations ----


def test_without_records_the_benchmarks_own_gpu_cases_are_on_offer(act: LoadedAct) -> None:
    fields = ("model", "precision", "batch", "sequence", "attention", "dropout")
    cases = [case.as_dict() for case in SUITES["gpt2"]]
    planned = {" ".join(str(case[name]) for name in fields) + " cuda" for case in cases}
    assert set(options(act)) <= planned
    for value in options(act):
        shown: Any = act.compute(state_of(act, 2, revealed=True, configuration=value))
        assert not shown["data"]["dots"]
        row = shown["tables"]["count"]["rows"][-1]
        assert (row["a"], row["b"]) == ("Measured ●", "not measured yet")
        assert row["e"] == "python -m gpu_bench run --suite gpt2"


def test_measured_configurations_are_on_offer_once_each(measured: LoadedAct) -> None:
    found = options(measured)
    assert len(found) == len(set(found))
    assert found[0] == XL
    assert "nano amp-bf16 8 128 flash 0.0 cpu" in found


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
    assert "measured ●" in shown["data"]["values"][-1]["text"]


def test_a_run_that_was_not_measured_leaves_no_number(measured: LoadedAct) -> None:
    shown: Any = measured.compute(
        state_of(measured, 2, revealed=True, configuration="gpt2-xl fp32 4 1024 flash 0.0 cuda")
    )
    assert shown["data"]["values"][-1]["text"] == "not measured yet"
    assert not shown["data"]["dots"]


def test_a_model_that_only_a_record_knows_is_counted_by_its_shape(measured: LoadedAct) -> None:
    shown: Any = measured.compute(
        state_of(measured, 2, revealed=True, configuration="nano amp-bf16 8 128 flash 0.0 cpu")
    )
    assert shown["tables"]["count"]["rows"][-1]["b"] == "30.00 MB"
    assert float(shown["headline"]["value"]) > 0


def test_the_reveal_says_how_well_records_confirm_the_engine(act: LoadedAct, measured: LoadedAct) -> None:
    unmeasured: Any = act.reveal(state_of(act, 2))
    assert "not measured yet" in unmeasured["paragraphs"][-1]
    confirmed: Any = measured.reveal(state_of(measured, 2))
    assert "3 records" in confirmed["paragraphs"][-1]
    # The small model's record is no copy of the engine's number, so there is a range.
    assert re.search(r"between 0\.\d{3} and 1\.000 times what", confirmed["paragraphs"][-1])


def test_one_ratio_is_not_told_as_a_range() -> None:
    exact = loaded(NAME, record("gpt2-xl-amp-bf16-adamw-b8", "gpt2-xl", EXACT))
    (said,) = (text for text in exact.reveal(state_of(exact, 2))["paragraphs"] if "records" in text)  # type: ignore[union-attr,index,call-overload,operator]
    assert "the machine held what the engine says, to a tenth of a percent" in said  # type: ignore[operator]


def test_the_spoken_summary_keeps_the_names_of_devices(measured: LoadedAct) -> None:
    shown: Any = measured.compute(state_of(measured, 2, revealed=True, configuration=XL))
    assert "Measured ● " in shown["summary"]
    assert "(Nvidia H200" in shown["summary"]


# ---- the counts ----


def test_three_counts_agree_with_the_engine_in_every_configuration(act: LoadedAct) -> None:
    for value in options(act):
        name, precision, batch = value.split()[:3]
        dtype = FP32 if precision == "fp32" else FP16
        book = chapter_activation_bytes(model(name), int(batch), 1024, dtype)
        exact = kept(name, precision, int(batch))
        shown: Any = act.compute(state_of(act, 3, revealed=True, configuration=value))
        assert shown["headline"]["value"] == f"{exact / book:.2f}"
        first, second = shown["tables"]["count"]["rows"][:2]
        assert number(first["b"].split()[0]) == pytest.approx(book / GB, abs=0.006)
        assert number(second["b"].split()[0]) == pytest.approx(exact / GB, abs=0.006)
        bars = shown["data"]
        scale = bars["parts"][-1]["to"] / exact
        assert bars["book"][0]["to"] == pytest.approx(book * scale)
        assert bars["guess"][0]["to"] == pytest.approx(3 * book * scale)
        assert max(bars["guess"][0]["to"], bars["parts"][-1]["to"]) <= 100


def test_kinds_of_tensors_sum_to_all_and_none_is_left_unnamed(act: LoadedAct) -> None:
    for value in options(act):
        shown: Any = act.compute(state_of(act, 2, revealed=True, configuration=value))
        assert sum(row["share"] for row in shown["data"]["kinds"]) == pytest.approx(100)
        rest = next(row for row in shown["data"]["kinds"] if row["kind"] == "rest")
        assert rest["share"] < 1
        counted = next(row for row in shown["data"]["kinds"] if row["kind"] == "counted")
        assert 25 < counted["share"] < 55


@pytest.mark.parametrize("prediction", [0.1, 50])
def test_the_reflection_names_what_the_readers_configuration_shows(act: LoadedAct, prediction: float) -> None:
    for value in options(act):
        at = state_of(act, prediction, revealed=True, configuration=value)
        shown: Any = act.compute(at)
        forgotten = {r["kind"]: r["share"] for r in shown["data"]["kinds"] if r["kind"] not in ("counted", "rest")}
        largest = max(forgotten, key=lambda kind: forgotten[kind])
        whole = sum(forgotten.values())
        share = "little" if whole <= 50 else "half" if whole <= 65 else "most" if whole <= 80 else "nearly"
        # No configuration is so near to the edge of a range that the shown numbers do not tell which one it is in.
        assert min(abs(whole - edge) for edge in (50, 65, 80)) > 1
        feedback: Any = act.check("missed", {"kind": largest, "share": share, "why": "backward"}, at)
        assert all(feedback[name]["correct"] for name in ("kind", "share", "why"))
        wrong: Any = act.check("missed", {"kind": "scores", "share": "little", "why": "leak"}, at)
        assert not any(wrong[name]["correct"] for name in ("kind", "share", "why"))
        assert wrong["share"]["why"] != feedback["share"]["why"]


@pytest.mark.parametrize("chart", ["count", "tensors"])
def test_charts_use_the_pages_colors_and_keep_their_size(measured: LoadedAct, chart: str) -> None:
    views: list[Any] = [measured.compute(state_of(measured))]
    views.append(measured.compute(state_of(measured, 50, configuration=XL)))
    views += [
        measured.compute(state_of(measured, 50, revealed=True, configuration=value)) for value in options(measured)
    ]
    drawings = [drawn(NAME, chart, view["data"]) for view in views]
    assert not [color for svg in drawings for color in fixed_colors(svg)]
    assert len({view_box(svg) for svg in drawings}) == 1
