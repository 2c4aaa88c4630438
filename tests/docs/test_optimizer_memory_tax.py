"""Act 1: every setting of its controls computes, agrees with the engine, and says in words what its numbers say."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

from explorable.live.build.bake import _load, chart_of, draw
from explorable.live.build.description import describe
from explorable.live.runtime.acts import LoadedAct
from ironlaw import GB, accelerator, fits, training_memory
from ironlaw.memory import MemoryLedger
from tests.docs.acts import loaded

FOLDER = Path(__file__).parents[2] / "docs/acts/optimizer_memory_tax"
DEVICES = {"node": "h100-sxm", "laptop": "rtx-4060"}
ROOM = {"node": accelerator("h100-sxm").usable_bytes, "laptop": accelerator("rtx-4060").usable_bytes}
OPTIMIZERS = ("sgd", "momentum", "adam")
PRECISIONS = ("fp32", "fp16", "mixed")
BATCHES = (1, 8, 16, 32, 64)
PREDICTIONS = (0, 3, 12, 24, 40)
TOGGLES = ("parameters", "gradients", "master", "activations", "temporary", "driver", "state_1", "state_2")
SETTINGS = tuple(product(ROOM, OPTIMIZERS, PRECISIONS, BATCHES))


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded("optimizer-memory-tax")


def state(context: str, optimizer: str, precision: str, batch: int, **changes: Any) -> dict[str, Any]:
    """A state as the page sends it; everything is shown and nothing is predicted unless `changes` says so."""
    prediction = changes.pop("prediction", None)
    chosen = {"optimizer": optimizer, "precision": precision, "batch": batch, "update": "fused"}
    controls = {**chosen, **dict.fromkeys(TOGGLES, True)}
    return {"context": context, "controls": controls | changes, "prediction": prediction}


def ledger(optimizer: str, precision: str, batch: int) -> MemoryLedger:
    """The engine's own account, not the act's; the fused update makes no temporary tensors."""
    return training_memory("gpt2-xl", optimizer=optimizer, precision=precision, batch=batch, update="fused")


def total(optimizer: str, precision: str, batch: int) -> int:
    """The total of the engine's own account."""
    return ledger(optimizer, precision, batch).total_bytes


def peak(optimizer: str, precision: str, batch: int) -> int:
    """What a device must have by the engine's own account."""
    return ledger(optimizer, precision, batch).device_total


def heights(view: Mapping[str, Any]) -> list[float]:
    """Height of each segment in GB."""
    return [bar["to"] - bar["from"] for bar in view["data"]["bars"]]


def numbers(text: str) -> list[float]:
    """Numbers of GB in a sentence."""
    return [float(found.replace(",", "")) for found in re.findall(r"([\d,]+\.\d\d) GB", text)]


# ---- the question ----


def test_adam_adds_two_fp32_vectors_to_sgd(act: LoadedAct) -> None:
    question = act.act.question
    assert question
    assert question.answer() * GB == pytest.approx(2 * 4 * 1_557_611_200)
    assert question.answer() * GB == pytest.approx(total("adam", "fp32", 1) - total("sgd", "fp32", 1))


@pytest.mark.parametrize("batch", BATCHES)
def test_adam_costs_at_the_peak_what_it_costs_in_the_sum(batch: int) -> None:
    """The two numbers that the page shows agree, so the instruments never contradict the reveal."""
    assert peak("adam", "fp32", batch) - peak("sgd", "fp32", batch) == 2 * 4 * 1_557_611_200


@pytest.mark.parametrize("prediction", [value / 2 for value in range(81)])
@pytest.mark.sampled(4)
def test_a_prediction_is_right_within_a_tenth_of_the_answer(act: LoadedAct, prediction: float) -> None:
    verdict: Any = act.reveal(state("node", "sgd", "fp32", 1, prediction=prediction))
    assert verdict["correct"] == (abs(prediction - 12.4608896) <= 1.24608896)


def test_the_update_is_said_and_the_default_one_costs_what_the_engine_says(act: LoadedAct) -> None:
    question = act.act.question
    assert question
    assert "fused update" in question.prompt
    default = [
        training_memory("gpt2-xl", optimizer=name, precision="fp32", batch=1).device_total for name in ("sgd", "adam")
    ]
    extra = f"{(default[1] - default[0]) / GB:.2f} GB"
    assert question.answer() * GB < default[1] - default[0], "the engine's own default is the other update"
    verdict: Any = act.reveal(state("node", "sgd", "fp32", 1, prediction=12))
    [told] = [text for text in verdict["paragraphs"] if "foreach" in text]
    assert extra in told
    (lever,) = (one for one in act.act.controls if one.name == "update")
    assert "default" in lever.help
    view: Any = act.compute(state("node", "adam", "fp32", 1, update="foreach"))
    assert view["headline"]["value"] == f"{default[1] / GB:.2f}"


def test_every_well_known_mistake_is_met_with_its_own_sentence(act: LoadedAct) -> None:
    verdicts: list[Any] = [act.reveal(state("node", "sgd", "fp32", 1, prediction=value)) for value in (0, 6, 12, 25)]
    said = [verdict["paragraphs"][0] for verdict in verdicts]
    assert len(set(said)) == 4
    assert "6.23 GB, and Adam keeps two" in said[1]


def test_nothing_tells_the_answer_before_the_commit(act: LoadedAct) -> None:
    description: Any = describe(act)
    view: Any = act.compute(description["state"])
    known = json.dumps([description, view])
    for option in (option for one in act.act.reflections for blank in one.blanks for option in blank.options):
        assert option.why
        assert option.why not in known
    assert "correct" not in known
    assert "Adam m" not in known
    # SGD's parameters and gradients end at 12.46 GB in the chart, so the rows themselves may hold that number.
    words = json.dumps([description, {**view, "data": {}}, view["data"]["labels"]])
    assert "12.46 GB" not in words


# ---- the view ----


@pytest.mark.parametrize(("context", "optimizer", "precision", "batch"), SETTINGS)
@pytest.mark.sampled(4)
def test_the_parts_less_what_is_not_there_at_the_peak_are_the_engines_peak(
    act: LoadedAct, context: str, optimizer: str, precision: str, batch: int
) -> None:
    for update in ("fused", "foreach"):
        view: Any = act.compute(state(context, optimizer, precision, batch, update=update))
        account = training_memory("gpt2-xl", optimizer=optimizer, precision=precision, batch=batch, update=update)
        sizes = {bar["part"]: bar["to"] - bar["from"] for bar in view["data"]["bars"]}
        kept = sum(size for part, size in sizes.items() if part not in ("temporary", "driver"))
        assert kept == pytest.approx(account.total_bytes / GB)
        assert sizes["driver"] == pytest.approx((account.device_total - account.allocated_peak) / GB)
        assert sizes["temporary"] * GB >= account.workspace_bytes
        needed = f"{account.device_total / GB:,.2f}"
        assert (view["headline"]["value"], view["headline"]["unit"]) == (needed, "GB")
        assert f"then the step needs {needed} GB" in view["summary"]
        rows = view["tables"]["ledger"]["rows"]
        *parts, together, gone, last = [float(row["size"].replace(",", "").replace("−", "-")) for row in rows]
        assert parts == pytest.approx(heights(view), abs=0.005)
        assert f"Together {together:,.2f} GB, of which {-gone:,.2f} GB" in view["summary"]
        assert together == pytest.approx(sum(sizes.values()), abs=0.005 * len(parts))
        # A reader who adds up what is shown finds the sums that are shown.
        assert together == round(sum(parts), 2)
        never = ", never at once" if gone < 0 else ""
        assert view["data"]["total"][0]["text"] == f"{together:,.2f} GB in all{never}"
        assert gone <= 0, "the parts are never less than the peak"
        assert round(together + gone, 2) == last
        assert needed == f"{last:,.2f}"


def test_the_lever_of_the_update_names_the_optimizer_whose_foreach_makes_copies(act: LoadedAct) -> None:
    """It promised a temporary copy of each tensor for every optimizer; the engine adds none for two of the three."""
    [update] = [control for control in act.act.controls if control.name == "update"]
    fused, foreach = (
        [training_memory("gpt2-xl", optimizer=name, update=update).device_total for name in OPTIMIZERS]
        for update in ("fused", "foreach")
    )
    copies = {name: one < other for name, one, other in zip(OPTIMIZERS, fused, foreach, strict=True)}
    assert copies == {"sgd": False, "momentum": False, "adam": True}
    assert "for Adam it makes a temporary copy of each, for SGD and Momentum none" in update.help


@pytest.mark.parametrize(("context", "optimizer", "precision", "batch"), SETTINGS)
@pytest.mark.sampled(4)
def test_memory_runs_out_exactly_where_the_peak_exceeds_what_the_device_can_give(
    act: LoadedAct, context: str, optimizer: str, precision: str, batch: int
) -> None:
    view: Any = act.compute(state(context, optimizer, precision, batch))
    exact, room = peak(optimizer, precision, batch), ROOM[context]
    assert (view["failure"] is not None) == (exact > room)
    assert view["data"]["peak"] == [{"gb": exact / GB, "over": exact > room}]
    assert (exact <= room) == fits(
        "gpt2-xl", DEVICES[context], batch, optimizer=optimizer, precision=precision, update="fused"
    )
    if view["failure"]:
        assert view["failure"]["title"] == "Out of memory"
        need, has, excess = numbers(view["failure"]["excess"])
        assert (need, has) == (float(f"{exact / GB:.2f}"), float(f"{room / GB:.2f}"))
        assert excess == pytest.approx(need - has, abs=0.011)


@pytest.mark.parametrize(("context", "optimizer", "precision", "batch"), SETTINGS)
@pytest.mark.sampled(4)
def test_the_banner_names_every_component_that_exceeds_the_device_alone(
    act: LoadedAct, context: str, optimizer: str, precision: str, batch: int
) -> None:
    view: Any = act.compute(state(context, optimizer, precision, batch))
    if not view["failure"]:
        return
    account = ledger(optimizer, precision, batch)
    sizes = [account.component(name) for name in ("optimizer", "parameters", "gradients", "master")]
    alone = {float(f"{size / GB:.2f}") for size in (*sizes, account.saved_bytes) if size > ROOM[context]}
    # The limit itself is named where nothing exceeds it alone.
    alone |= {float(f"{ROOM[context] / GB:.2f}")}
    assert set(numbers(view["failure"]["what"])) == alone


@pytest.mark.parametrize(
    ("context", "line", "sold"), [("node", "H100 can give", "80"), ("laptop", "RTX 4060 can give", "8")]
)
def test_the_device_line_stands_at_what_programs_get_and_the_context_says_what_is_sold(
    act: LoadedAct, context: str, line: str, sold: str
) -> None:
    data: Any = act.compute(state(context, "sgd", "fp32", 1))["data"]  # type: ignore[call-overload,index]
    room = f"{ROOM[context] / GB:.2f} GB"
    assert data["limit"] == [{"gb": ROOM[context] / GB}]
    assert f"{line} {room}" in [row["text"] for row in data["labels"]]
    (detail,) = (option.detail for option in act.act.contexts if option.name == context)
    # No part is larger than what it is said to be of: the box counts in larger units than the GB.
    reported = accelerator(DEVICES[context]).memory_bytes / GB
    assert f"the driver reports {reported:.1f} GB, sold as {sold} GB; your programs get {room}" in detail
    assert ROOM[context] / GB < reported
    assert f"it may draw {accelerator(DEVICES[context]).tdp:g} W" in detail


@pytest.mark.parametrize(("optimizer", "precision", "batch"), tuple(product(OPTIMIZERS, PRECISIONS, BATCHES)))
def test_every_remedy_that_is_offered_fits(act: LoadedAct, optimizer: str, precision: str, batch: int) -> None:
    view: Any = act.compute(state("node", optimizer, precision, batch))
    if not view["failure"]:
        return
    remedy = view["failure"]["remedy"]
    assert ("FP16" in remedy) == ("does not train stably" in remedy)
    assert all(size * GB <= ROOM["node"] for size in numbers(remedy))
    single = [peak(optimizer, precision, other) for other in BATCHES]
    single += [peak(other, precision, batch) for other in OPTIMIZERS]
    single += [peak(optimizer, other, batch) for other in PRECISIONS]
    assert remedy.startswith("One change is enough") == any(size <= ROOM["node"] for size in single)
    smaller = max((b for b in BATCHES if peak(optimizer, precision, b) <= ROOM["node"]), default=None)
    if smaller:
        assert f"batch {smaller} (" in remedy


def test_one_setting_alone_fits_the_laptop_and_its_tensors_add_up_to_more_than_it_has(act: LoadedAct) -> None:
    settings = product(OPTIMIZERS, PRECISIONS, BATCHES)
    assert [setting for setting in settings if peak(*setting) <= ROOM["laptop"]] == [("sgd", "fp16", 1)]
    assert total("sgd", "fp16", 1) > ROOM["laptop"]
    running: Any = act.compute(state("laptop", "sgd", "fp16", 1))
    assert running["failure"] is None
    assert "gone or not there yet" in running["summary"]
    view: Any = act.compute(state("laptop", "adam", "fp32", 1))
    assert "the state of Adam (12.46 GB)" in view["failure"]["what"]
    assert numbers(view["failure"]["remedy"]) == [float(f"{peak('sgd', 'fp16', 1) / GB:.2f}")]


@pytest.mark.parametrize(
    "hidden", [names for n in range(1, 256, 3) if (names := tuple(t for i, t in enumerate(TOGGLES) if n >> i & 1))]
)
def test_hiding_a_component_frees_no_memory_and_changes_the_chart_alone(
    act: LoadedAct, hidden: tuple[str, ...]
) -> None:
    complete: Any = act.compute(state("laptop", "adam", "mixed", 8))
    view: Any = act.compute(state("laptop", "adam", "mixed", 8, **dict.fromkeys(hidden, False)))
    assert (view["failure"], view["headline"]) == (complete["failure"], complete["headline"])
    assert len(view["data"]["bars"]) == len(TOGGLES) - len(hidden)
    # What is hidden is not in the sum either, and the sum says so.
    assert " GB in all" in complete["data"]["total"][0]["text"]
    # Below the stack: above it lie the prediction's box and the line of what is needed.
    assert complete["data"]["total"][0]["from"] == 0
    assert view["data"]["total"][0]["text"].partition(" GB ")[2].startswith("shown" if hidden else "in all")


@pytest.mark.parametrize(("context", "optimizer", "precision", "batch"), SETTINGS)
@pytest.mark.parametrize("prediction", PREDICTIONS)
@pytest.mark.sampled(7)
def test_every_mark_and_label_lies_inside_the_axis(
    act: LoadedAct, context: str, optimizer: str, precision: str, batch: int, prediction: int
) -> None:
    data: Any = act.compute(state(context, optimizer, precision, batch, prediction=prediction))["data"]  # type: ignore[call-overload,index]
    top = data["frame"][1]["gb"]
    assert max(bar["to"] for bar in data["bars"]) < top
    assert data["limit"][0]["gb"] < top
    assert data["peak"][0]["gb"] < top
    assert min(row["gb"] for row in data["labels"]) >= 0
    assert max(row["gb"] for row in data["labels"]) <= 1.02 * top
    places = sorted(row["gb"] for row in data["labels"])
    assert all(b - a >= 0.065 * top for a, b in pairwise(places))


@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_the_prediction_stands_where_the_optimizer_state_does(act: LoadedAct, prediction: int) -> None:
    data: Any = act.compute(state("node", "adam", "fp32", 8, prediction=prediction))["data"]  # type: ignore[call-overload,index]
    (outline,) = data["prediction"]
    first = next(bar for bar in data["bars"] if bar["part"] == "state_1")
    assert outline["from"] == pytest.approx(first["from"])
    assert outline["to"] - outline["from"] == pytest.approx(prediction)


@pytest.mark.parametrize("held", [None, 0, 2.5, 40])
def test_before_the_lock_the_ghost_is_what_the_reader_holds(act: LoadedAct, held: float | None) -> None:
    view: Any = act.compute({**state("node", "sgd", "fp32", 1), "held": held})
    assert len(view["data"]["prediction"]) == (held is not None)
    for ghost in view["data"]["prediction"]:
        assert ghost["to"] - ghost["from"] == pytest.approx(held)
        assert ghost["from"] == pytest.approx(view["data"]["bars"][-1]["to"])
    assert view["data"]["gap"] == []


@pytest.mark.parametrize("prediction", [value / 2 for value in range(81)])
@pytest.mark.parametrize("hidden", [(), ("parameters", "gradients", "activations")])
@pytest.mark.sampled(7)
def test_the_gap_and_the_prediction_have_their_own_lines(
    act: LoadedAct, prediction: float, hidden: tuple[str, ...]
) -> None:
    for batch in BATCHES:
        asked = state("node", "adam", "fp32", batch, prediction=prediction, **dict.fromkeys(hidden, False))
        view: Any = act.compute({**asked, "revealed": True})
        data = view["data"]
        (gap,), (said,), top = data["gap"], data["prediction"], data["frame"][1]["gb"]
        assert gap["middle"] >= 0
        assert abs(gap["middle"] - said["name_at"]) >= 0.065 * top


def test_the_bracket_of_the_gap_reaches_the_stack_at_both_ends() -> None:
    """A gap of 1.46 GB was a short tick beside the stack, tied to nothing."""
    path = FOLDER / "charts.py"
    spec: Any = chart_of(_load(path.read_text(encoding="utf-8"), str(path)), "ledger").to_dict()
    edges = {row["name"]: row["encoding"] for row in spec["layer"] if "name" in row}
    left = edges["stack"]["x"]["datum"]
    for end in ("from", "to"):
        tie = edges[f"gap_{end}"]
        assert (tie["y"]["field"], tie["x2"]["datum"]) == (end, left)
        assert tie["x"]["datum"] == edges["gap"]["x"]["datum"] < left


@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_the_gap_in_the_chart_is_the_gap_of_the_sentence(act: LoadedAct, prediction: int) -> None:
    asked = state("node", "adam", "fp32", 1, prediction=prediction)
    assert act.compute(asked)["data"]["gap"] == []  # type: ignore[call-overload,index]
    view: Any = act.compute({**asked, "revealed": True})
    (gap,) = view["data"]["gap"]
    assert gap["to"] - gap["from"] == pytest.approx(abs(prediction - 12.4608896))
    if prediction != 12:
        assert re.sub(" (short|over)", " GB", gap["text"]) in act.reveal(asked)["headline"] or not prediction  # type: ignore[call-overload,index,operator]
    elsewhere: Any = act.compute({**state("node", "adam", "mixed", 1, prediction=prediction), "revealed": True})
    assert elsewhere["data"]["gap"] == [], "in another format the question's gap would be wrong"


# ---- the reveal and the reflection ----


@pytest.mark.parametrize(("prediction", "factor", "gap"), [(3, "4.2", "9.46"), (24, "1.9", "11.54")])
def test_the_gap_is_told_as_a_factor_and_in_gb(act: LoadedAct, prediction: int, factor: str, gap: str) -> None:
    verdict: Any = act.reveal(state("node", "sgd", "fp32", 1, prediction=prediction))
    assert f"{factor} times" in verdict["headline"]
    assert f"{gap} GB" in verdict["headline"]


@pytest.mark.parametrize("context", ROOM)
@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_the_reveal_names_what_is_static_and_which_multiple_counts_what(
    act: LoadedAct, context: str, prediction: int
) -> None:
    verdict: Any = act.reveal(state(context, "sgd", "mixed", 64, prediction=prediction))
    text = " ".join(verdict["paragraphs"])
    assert "24.92 GB are static" in text
    assert "3×" in text
    assert "4×" in text
    assert "not measured here" in text
    assert "150,000+" in text
    rows = verdict["tables"]["optimizers"]["rows"]
    assert [(row["vectors"], row["state"], row["static"]) for row in rows] == [
        ("0", "1×", "2×"),
        ("1", "2×", "3×"),
        ("2", "3×", "4×"),
    ]
    assert "◇" in verdict["tables"]["optimizers"]["columns"][-1]["label"]


@pytest.mark.parametrize(("context", "optimizer", "precision", "batch"), SETTINGS)
@pytest.mark.sampled(4)
def test_the_reflection_is_judged_by_what_the_engine_says_of_the_readers_setting(
    act: LoadedAct, context: str, optimizer: str, precision: str, batch: int
) -> None:
    at = state(context, optimizer, precision, batch)
    saved = 1 - peak(optimizer, "mixed", batch) / peak(optimizer, "fp32", batch)
    expected = "little" if saved < 0.2 else "part" if saved < 0.4 else "nearly"
    # What halves lowers the peak only if it is there then: at batch 1 the step is fullest after the activations left.
    there = ledger(optimizer, "fp32", batch).peak.name == "backward, loss"
    assert there == (batch > 1)
    answers = {"saving": expected, "reason": "activations" if there else "passing"}
    feedback: Any = act.check("mixed-precision", answers, at)
    assert all(feedback[name]["correct"] for name in answers)
    for wrong in {"little", "part", "nearly", "more"} - {expected}:
        refused: Any = act.check("mixed-precision", {"saving": wrong, "reason": "both"}, at)
        assert not refused["saving"]["correct"]
        assert not refused["reason"]["correct"]


def test_the_reflection_is_of_the_readers_update_too(act: LoadedAct) -> None:
    """With the foreach update, batch 1 needs the same in both precisions; it was judged as if it were fused."""
    at = state("node", "adam", "fp32", 1, update="foreach")
    views: Any = [act.compute({**at, "controls": {**at["controls"], "precision": mode}}) for mode in ("fp32", "mixed")]
    assert views[0]["headline"]["value"] == views[1]["headline"]["value"]
    feedback: Any = act.check("mixed-precision", {"saving": "little", "reason": "passing"}, at)
    assert all(one["correct"] for one in feedback.values())
    other: Any = act.check("mixed-precision", {"reason": "activations"}, at)
    assert not other["reason"]["correct"]


def test_no_sentence_of_the_reflection_takes_the_setting_for_another(act: LoadedAct) -> None:
    """At batch 64 an answer told of batch 1, and advised to set batch 8."""
    for batch in BATCHES:
        for option in ("both", "activations", "passing", "static", "none"):
            feedback: Any = act.check("mixed-precision", {"reason": option}, state("node", "momentum", "mixed", batch))
            why = feedback["reason"]["why"]
            assert why
            assert not re.search(r"Batch \d+ is ", why) or f"Batch {batch} is " in why
            assert all(int(other) > batch for other in re.findall(r"Set batch (\d+)", why))


def test_the_readers_batch_changes_what_mixed_precision_saves(act: LoadedAct) -> None:
    right = {
        batch: [
            name
            for name in ("little", "part", "nearly", "more")
            if act.check("mixed-precision", {"saving": name}, state("node", "adam", "fp32", batch))["saving"]["correct"]  # type: ignore[call-overload,index]
        ]
        for batch in BATCHES
    }
    assert right == {1: ["little"], 8: ["part"], 16: ["part"], 32: ["nearly"], 64: ["nearly"]}


# ---- the chart ----


def test_the_chart_draws_every_label_of_a_state_and_uses_the_pages_colors(act: LoadedAct) -> None:
    path = FOLDER / "charts.py"
    chart = chart_of(_load(path.read_text(encoding="utf-8"), str(path)), "ledger")
    data: Any = act.compute(state("node", "adam", "mixed", 16, prediction=3))["data"]  # type: ignore[call-overload,index]
    svg = draw(chart, data, "test")["svg"]
    for row in [*data["labels"], *data["prediction"], *data["total"]]:
        assert f">{row['text']}<" in svg
    assert "url(#il-hatch)" in svg
    assert not re.findall(r'(?:fill|stroke)="#[0-9a-f]', svg)


@pytest.mark.parametrize(
    ("act", "chart", "line"), [("optimizer-memory-tax", "ledger", "limit"), ("laptop-challenge", "memory", "budget")]
)
def test_nothing_pale_beside_the_device_line_hides_where_a_bar_ends(act: str, chart: str, line: str) -> None:
    """An earlier line had a pale edge of five pixels, which hid the end of a bar that was only just too long."""
    path = FOLDER.parent / act.replace("-", "_") / "charts.py"
    drawn = json.loads(chart_of(_load(path.read_text(encoding="utf-8"), str(path)), chart).to_json())
    flat = drawn.get("vconcat", [drawn])[0]["layer"]
    widths = [layer["mark"]["strokeWidth"] for layer in flat if layer.get("data", {}).get("name") == line]
    assert widths == [2, 2]
