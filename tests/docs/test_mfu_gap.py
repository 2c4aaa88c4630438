"""Act 3: one set of stage times behind every number, physics in every state, texts that say what the numbers say."""

from __future__ import annotations

import json
import re
from itertools import pairwise, product
from math import log
from typing import Any

import pytest

from explorable.live import Value
from explorable.live.build.description import describe
from explorable.live.runtime.acts import LoadedAct
from explorable.live.runtime.measured import MeasuredRecord
from ironlaw import GB, accelerator, fits, link, model, step_time, training_memory
from ironlaw.hardware import storage
from ironlaw.training import TOKENIZING, english_text, stage_times
from tests.docs.acts import (
    drawn,
    fixed_colors,
    hidden_texts,
    loaded,
    number,
    numbers,
    public_text,
    state_of,
    view_box,
)

NAME = "mfu-gap"
BATCHES = (16, 32, 64, 128, 256)
SETTINGS = tuple(product((False, True), ("fp32", "mixed"), (False, True), BATCHES))
CAPACITY = accelerator("a100-80").usable_bytes
PREDICTIONS = (0, 12, 47, 55, 59, 65, 80, 100)
TOKENIZED = f"{1e3 * 256 * TOKENIZING:.1f} ms"
CHARTS = ("iteration", "overlap", "memory", "gauges", "batch")


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded(NAME)


def state(act: LoadedAct, setting: tuple[bool, str, bool, int], prediction: float | None = 80) -> dict[str, Any]:
    prefetch, precision, checkpointing, batch = setting
    levers = {"prefetch": prefetch, "precision": precision, "checkpointing": checkpointing, "batch": batch}
    return state_of(act, prediction, revealed=prediction is not None, **levers)


def view(act: LoadedAct, setting: tuple[bool, str, bool, int]) -> Any:
    return act.compute(state(act, setting))


def test_the_help_of_mixed_precision_counts_what_is_kept_beside_the_activations(act: LoadedAct) -> None:
    """It read as halving, "keeps half of what it stores": 42.1 GB become 27.5, and 1.96 with checkpointing 2.10."""
    [numbers_] = [control for control in act.act.controls if control.name == "precision"]
    assert numbers_.help.endswith("keeps most activations and a copy of the weights in 16 bits.")
    plain, mixed = (training_memory("gpt2-xl", "a100-80", 32, 256, precision=one) for one in ("fp32", "amp-bf16"))
    assert [round(one.saved_bytes / GB, 1) for one in (plain, mixed)] == [42.1, 27.5]
    kept = [one.component("activations") for one in (plain, mixed)]
    assert 0.5 < kept[1] / kept[0] < 0.75, "a share of more than half is halved"
    rest = [one.saved_bytes - one.component("activations") - one.component("logits") for one in (plain, mixed)]
    assert rest[0] < 0.01 * GB
    assert rest[1] == pytest.approx(2 * model("gpt2-xl").parameters, rel=0.05)


def need(setting: tuple[bool, str, bool, int]) -> int:
    """Bytes that a setting needs, from the engine itself and not from the act."""
    _, precision, checkpointing, batch = setting
    return training_memory(
        "gpt2-xl",
        precision="amp-bf16" if precision == "mixed" else "fp32",
        batch=batch,
        sequence=256,
        checkpointing="every:12" if checkpointing else "none",
    ).device_total


FITTING = tuple(setting for setting in SETTINGS if need(setting) <= CAPACITY)


def shares(shown: Any) -> dict[str, float]:
    """The reader's bar: percent by segment."""
    found: dict[str, float] = {}
    for row in shown["data"]["lanes"]:
        if row["lane"] == "now":
            found[row["part"]] = found.get(row["part"], 0) + row["to"] - row["from"]
    return found


def paragraphs(act: LoadedAct) -> list[str]:
    verdict: Any = act.reveal(state(act, SETTINGS[0]))
    found: list[str] = verdict["paragraphs"]
    return found


def gauges(shown: Any) -> dict[str, float]:
    return {row["gauge"]: row["value"] for row in shown["data"]["gauges"]}


START = (False, "fp32", False, 32)


def first_share(act: LoadedAct) -> float:
    """Percent of the first profile in which products run: the answer."""
    return shares(view(act, START))["compute"]


# ---- the question ----


def test_the_first_profile_is_the_engines_with_a_stated_disk_loader_and_processor(act: LoadedAct) -> None:
    device = step_time("gpt2-xl", "a100-80", 32, 256, optimizer="adam", precision="tf32")
    disk, bus = storage("hdd"), link("pcie-4-x16")
    text = english_text(256)
    stages = stage_times(text, 32, device.compute, disk, bus, workers=1)
    total = stages.load + stages.hand_over + stages.transfer + device.total
    question = act.act.question
    assert question
    assert question.answer() == pytest.approx(100 * device.compute / total) == pytest.approx(first_share(act))
    table = view(act, START)["tables"]["iteration"]
    assert table["caption"].endswith(
        f"{disk.title}, 12 ms to reach a text; a processor core, {TOKENIZED} to tokenize one (assumed)."
    )
    assert number(table["rows"][-1]["d"]) == pytest.approx(1e3 * total, abs=0.5)


def test_every_text_with_the_assumed_time_marks_it_as_assumed(act: LoadedAct) -> None:
    told = [public_text(act), json.dumps(view(act, START), ensure_ascii=False), *paragraphs(act)]
    said = [text for text in told if TOKENIZED in text]
    assert len(said) == 3
    assert all(text.count(TOKENIZED) == text.count("(assumed)") for text in said)


@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_a_prediction_within_five_points_is_right_and_the_gap_is_told_in_points(
    act: LoadedAct, prediction: float
) -> None:
    verdict: Any = act.reveal(state(act, SETTINGS[-1], prediction))
    answer = first_share(act)
    assert verdict["correct"] == (abs(prediction - answer) <= 5)
    assert f"You said {prediction} %" in verdict["headline"]
    if verdict["correct"]:
        assert re.search(r"right: it waits \d+ % for the texts", verdict["headline"])
    if not verdict["correct"]:
        far = f"{abs(prediction - answer):.0f} points {'more' if prediction < answer else 'too high'}"
        assert far in verdict["headline"]


def test_nothing_tells_the_split_before_the_reveal(act: LoadedAct) -> None:
    known = public_text(act)
    assert not [why for why in hidden_texts(act) if why in known]
    assert not re.search(rf"\b{first_share(act):.0f}\b", known)
    assert "lanes" in known
    for setting, (prediction, held) in product(SETTINGS[::7], ((None, None), (None, 30), (80, None))):
        closed: Any = act.compute(state(act, setting, prediction) | {"revealed": False, "held": held})
        assert closed["failure"] is None
        assert closed["headline"]["value"] == "?"
        assert [row["part"] for row in closed["data"]["lanes"]] == ["hidden"]
        empty = ("gap", "memory", "room", "curve", "claims", "names", "spans", "notes")
        assert not [name for name in empty if closed["data"][name]]
        assert "walkthrough" not in closed["tables"]


@pytest.mark.parametrize(("held", "edge"), [(0, 100), (30, 70), (100, 0)])
def test_before_the_lock_the_dragged_split_is_drawn_where_it_is_held(act: LoadedAct, held: float, edge: float) -> None:
    open_: Any = act.compute(state(act, START, None) | {"held": held})
    (guess,) = open_["data"]["guess"]
    assert (guess["from"], guess["to"]) == (edge, 100)
    assert guess["text"] == f"you: {held} %"
    assert act.compute(state(act, START, None))["data"]["guess"] == []  # type: ignore[call-overload,index]


@pytest.mark.parametrize(("far", "text"), [(29, "29 points too high"), (-39, "39 points too low"), (0, "right")])
def test_the_gap_is_drawn_from_the_prediction_to_the_answer(act: LoadedAct, far: int, text: str) -> None:
    said = round(first_share(act)) + far
    shown: Any = act.compute(state(act, START, said))
    (gap,) = shown["data"]["gap"]
    ends = sorted((100 - said, 100 - first_share(act)))
    assert (gap["from"], gap["to"]) == pytest.approx(tuple(ends))
    assert gap["text"] == text


# ---- physics ----


@pytest.mark.parametrize("setting", FITTING)
def test_shares_sum_to_the_step_and_mfu_never_exceeds_the_compute_share(
    act: LoadedAct, setting: tuple[bool, str, bool, int]
) -> None:
    shown = view(act, setting)
    parts, dials = shares(shown), gauges(shown)
    assert sum(parts.values()) == pytest.approx(100)
    assert dials["utilization"] == pytest.approx(parts["compute"] + parts.get("recompute", 0))
    assert 0 < dials["mfu"] < parts["compute"] <= dials["utilization"] + 1e-9 < 100
    assert ("recompute" in parts) == setting[2]


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_curve_over_the_batch_obeys_the_same_order(act: LoadedAct, setting: tuple[bool, str, bool, int]) -> None:
    rows = view(act, setting)["data"]["curve"]
    for batch in BATCHES:
        at = {row["gauge"]: row["share"] for row in rows if row["batch"] == str(batch)}
        assert at["mfu"] <= at["utilization"] <= at["fed"] <= 100
        assert {row["fits"] for row in rows if row["batch"] == str(batch)} == {need((*setting[:3], batch)) <= CAPACITY}
    for gauge in ("utilization", "mfu", "fed"):
        line = [row["share"] for row in rows if row["gauge"] == gauge]
        assert line == sorted(line)


@pytest.mark.parametrize("setting", SETTINGS)
def test_fetching_in_advance_is_never_slower_and_boxes_of_one_lane_never_overlap(
    act: LoadedAct, setting: tuple[bool, str, bool, int]
) -> None:
    data = view(act, setting)["data"]
    ends = {}
    for way in ("sequential", "overlapped"):
        mine = [row for row in data["spans"] if row["way"] == way]
        ends[way] = max(row["to"] for row in mine)
        for lane in ("load", "copy", "gpu"):
            boxes = sorted((row["from"], row["to"]) for row in mine if row["lane"] == lane)
            assert all(a[1] <= b[0] + 1e-6 for a, b in pairwise(boxes))
    assert ends["overlapped"] < ends["sequential"] <= data["clock"][1]["from"]


def test_mixed_precision_makes_the_waiting_weigh_more(act: LoadedAct) -> None:
    wide, narrow = view(act, START), view(act, (False, "mixed", False, 32))
    assert gauges(narrow)["utilization"] < gauges(wide)["utilization"]
    assert gauges(narrow)["mfu"] > gauges(wide)["mfu"]


# ---- the levers ----


def test_precision_and_prefetching_lead_and_only_three_levers_together_reach_the_target(act: LoadedAct) -> None:
    single = {
        "prefetch": (True, "fp32", False, 32),
        "precision": (False, "mixed", False, 32),
        "checkpointing": (False, "fp32", True, 32),
        "batch 16": (False, "fp32", False, 16),
    }
    rates = {name: gauges(view(act, setting))["mfu"] for name, setting in single.items()}
    assert set(sorted(rates, key=lambda name: rates[name])[-2:]) == {"prefetch", "precision"}
    both, first = (gauges(view(act, setting))["mfu"] for setting in ((True, "mixed", False, 32), START))
    assert both / first > rates["prefetch"] / first * rates["precision"] / first
    reached = [setting for setting in FITTING if gauges(view(act, setting))["mfu"] >= 50]
    assert reached == [(True, "mixed", False, 64)]
    assert "target reached" in view(act, reached[0])["headline"]["label"]
    assert "target 50 %" in view(act, START)["headline"]["label"]


def test_the_busiest_setting_is_not_the_fastest(act: LoadedAct) -> None:
    dials = {setting: gauges(view(act, setting)) for setting in FITTING}
    busiest = max(dials, key=lambda setting: dials[setting]["utilization"])
    fastest = max(dials, key=lambda setting: dials[setting]["mfu"])
    assert busiest != fastest
    assert (busiest[1], fastest[1]) == ("fp32", "mixed")


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_lever_shows_a_gain_and_a_cost(act: LoadedAct, setting: tuple[bool, str, bool, int]) -> None:
    rows = view(act, setting)["tables"]["levers"]["rows"]
    assert len(rows) == 4
    assert all(row["b"] and row["c"] for row in rows)
    prefetching, mixed, checkpointing, batch = rows
    assert prefetching["b"].startswith("+")
    assert mixed["b"].startswith("+")
    assert checkpointing["b"].startswith("−") or setting[3] == 16
    assert checkpointing["c"].startswith("−")
    assert batch["b"].startswith("+")


# ---- memory ----


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_step_runs_where_the_engine_says_that_memory_is_exceeded(
    act: LoadedAct, setting: tuple[bool, str, bool, int]
) -> None:
    shown = view(act, setting)
    over = need(setting) > CAPACITY
    assert (shown["failure"] is not None) == over
    if over:
        assert gauges(shown) == {"utilization": 0, "mfu": 0}
        assert numbers(shown["failure"]["what"], "GB") == [round(need(setting) / GB, 1)]
        has, excess = numbers(shown["failure"]["excess"], "GB")
        assert has + excess == pytest.approx(need(setting) / GB, abs=0.11)
        offers = numbers(shown["failure"]["remedy"], "GB")
        assert offers
        assert all(offer * GB <= CAPACITY + 0.05 * GB for offer in offers)


def test_failure_is_reached_and_left_by_one_lever(act: LoadedAct) -> None:
    assert view(act, (False, "fp32", False, 64))["failure"]
    for escape in ((False, "mixed", False, 64), (False, "fp32", True, 64), (False, "fp32", False, 32)):
        assert view(act, escape)["failure"] is None


# ---- texts ----


@pytest.mark.parametrize("setting", FITTING)
def test_legend_headline_summary_and_table_say_the_same(act: LoadedAct, setting: tuple[bool, str, bool, int]) -> None:
    shown = view(act, setting)
    parts = shares(shown)
    for row in shown["data"]["legend"]:
        assert f" {parts[row['part']]:.0f} %" in row["text"]
    used = gauges(shown)["utilization"]
    assert shown["headline"]["value"] == f"{gauges(shown)['mfu']:.0f}"
    assert f"Compute share {used:.0f} %" in shown["summary"]
    table = {row["a"]: row["c"] for row in shown["tables"]["iteration"]["rows"]}
    assert number(table["Compute"]) == pytest.approx(parts["compute"], abs=0.051)


def test_the_reveal_says_what_the_gpu_waits_for_and_how_far_the_target_is(act: LoadedAct) -> None:
    text = " ".join(paragraphs(act))
    parts = shares(view(act, START))
    assert f"{parts['data']:.0f} % of the time" in text
    assert f"an MFU of {gauges(view(act, START))['mfu']:.0f} %" in text
    reached = [setting for setting in FITTING if gauges(view(act, setting))["mfu"] >= 50]
    assert f"Of the {len(FITTING)} settings here that fit, {len(reached)} does." in text


def test_the_walkthrough_goes_lever_by_lever_and_shows_where_the_reader_stands(act: LoadedAct) -> None:
    stands = {START: 0, (True, "fp32", False, 32): 1, (True, "mixed", False, 32): 2, (True, "mixed", True, 32): 3}
    for setting, row in stands.items():
        shown = view(act, setting)
        rows = shown["tables"]["walkthrough"]["rows"]
        assert [index for index, one in enumerate(rows) if one["a"].startswith("▸")] == [row]
        assert rows[row]["c"] == f"{gauges(shown)['mfu']:.0f}" == shown["headline"]["value"]
        assert rows[row]["d"] == shown["tables"]["gauges"]["rows"][1]["c"]
    assert [one["b"] for one in rows[-3:]] == ["40", "5", "–"]
    assert rows[-1]["c"] == "not yet"


def test_a_record_of_gpt2_xl_fills_the_measured_row() -> None:
    values: dict[str, Value | None] = {
        "case.model": "gpt2-xl",
        "case.precision": "amp-bf16",
        "case.batch": 8,
        "case.sequence": 1024,
        "utilization.mfu": 0.47,
        "summary.tokens_per_s.median": 15000.0,
    }
    for title, row in (("NVIDIA A100", ["–", "47", "15,000"]), ("NVIDIA H200", ["–", "not yet", "not yet"])):
        record = MeasuredRecord("gpt2", "gpt2-xl-amp-bf16", "a100", title, "2025-11-20", "ok", values)
        act = loaded(NAME, record)
        shown: Any = act.compute(state_of(act, 80, revealed=True))
        last = shown["tables"]["walkthrough"]["rows"][-1]
        assert [last["b"], last["c"], last["d"]] == row


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_memory_bar_ends_at_what_the_engine_says_is_needed(
    act: LoadedAct, setting: tuple[bool, str, bool, int]
) -> None:
    data = view(act, setting)["data"]
    static, kept = data["memory"]
    assert (static["from"], static["to"]) == (0, kept["from"])
    assert kept["to"] * GB == pytest.approx(need(setting))
    assert kept["to"] <= data["frame"][0]["gb"]
    assert (kept["to"] > data["room"][0]["gb"]) == (need(setting) > CAPACITY)


# ---- the reflections ----


FIXES = ("gpu", "sgd", "prefetch", "batch", "none")


def best_fixes(act: LoadedAct, setting: tuple[bool, str, bool, int]) -> list[str]:
    answers: dict[str, Any] = {fix: act.check("bottleneck", {"fix": fix}, state(act, setting)) for fix in FIXES}
    return [fix for fix, feedback in answers.items() if feedback["fix"]["correct"]]


@pytest.mark.parametrize("setting", FITTING)
def test_the_best_next_change_is_prefetching_where_loading_weighs_more_than_half_the_compute(
    act: LoadedAct, setting: tuple[bool, str, bool, int]
) -> None:
    parts = shares(view(act, setting))
    halved = (parts["compute"] + parts.get("recompute", 0)) / 2
    hidden = 0 if setting[0] else parts["data"]
    assert best_fixes(act, setting) == (["prefetch"] if hidden > halved else ["gpu"])
    if not setting[0] and (setting == START or setting[1] == "mixed"):
        assert hidden > halved


@pytest.mark.parametrize("setting", sorted(set(SETTINGS) - set(FITTING)))
def test_where_no_step_runs_only_what_makes_it_fit_is_right(
    act: LoadedAct, setting: tuple[bool, str, bool, int]
) -> None:
    (fix,) = best_fixes(act, setting)
    half = need((*setting[:3], setting[3] // 2)) <= CAPACITY
    stateless = fits_with_sgd(setting)
    assert fix in ({"batch"} if half else set()) | ({"sgd"} if stateless else set()) | (
        set() if half or stateless else {"none"}
    )


def fits_with_sgd(setting: tuple[bool, str, bool, int]) -> bool:
    _, precision, checkpointing, batch = setting
    return fits(
        "gpt2-xl",
        "a100-80",
        batch,
        256,
        optimizer="sgd",
        precision="amp-bf16" if precision == "mixed" else "fp32",
        checkpointing="every:12" if checkpointing else "none",
    )


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_checkpointing_saves_is_judged_at_the_readers_batch(
    act: LoadedAct, setting: tuple[bool, str, bool, int]
) -> None:
    """By the activations and the workspace that the table of memory shows, without checkpointing and with it."""
    right = []
    for factor in (2, 3, 4, 12):
        feedback: Any = act.check(
            "checkpointing", {"factor": factor, "cost": 33, "why": "recompute"}, state(act, setting)
        )
        assert feedback["cost"]["correct"]
        assert feedback["why"]["correct"]
        right += [factor] if feedback["factor"]["correct"] else []
    assert len(right) == 1
    prefetch, precision, _, batch = setting
    whole, again = (
        float(view(act, (prefetch, precision, on, batch))["tables"]["memory"]["rows"][1]["b"]) for on in (False, True)
    )
    nearest = min((2, 3, 4, 12), key=lambda factor: abs(log(factor * again / whole)))
    assert right == [nearest]


# ---- the charts ----


@pytest.mark.sampled(2)
@pytest.mark.parametrize("chart", CHARTS)
def test_charts_use_the_pages_colors_and_keep_their_size(act: LoadedAct, chart: str) -> None:
    described: Any = describe(act)
    closed: Any = act.compute(described["state"])
    drawings = [drawn(NAME, chart, closed["data"])]
    for setting in (SETTINGS[0], SETTINGS[-1], (False, "fp32", False, 256), (True, "mixed", True, 64)):
        drawings.append(drawn(NAME, chart, view(act, setting)["data"]))
    assert not [color for svg in drawings for color in fixed_colors(svg)]
    assert len({view_box(svg) for svg in drawings}) == 1


def test_the_iteration_draws_every_line_of_its_legend(act: LoadedAct) -> None:
    data = view(act, (True, "mixed", True, 64))["data"]
    svg = drawn(NAME, "iteration", data)
    for row in [*data["legend"], *data["guess"]]:
        assert f">{row['text']}<" in svg
    assert "url(#il-hatch)" in svg


@pytest.mark.sampled(3)
@pytest.mark.parametrize("prediction", [0, 5, 50, 71, 72, 73, 84, 95, 99.75, 100])
def test_the_predictions_label_is_whole_wherever_it_stands(act: LoadedAct, prediction: float) -> None:
    svg = drawn(NAME, "iteration", act.compute(state(act, SETTINGS[0], prediction))["data"])  # type: ignore[arg-type,index,call-overload]
    width = float(view_box(svg).split()[2])
    label = f"you: {prediction:g} %"
    places = re.findall(rf"<text([^>]*)>{re.escape(label)}<", svg)
    assert places
    for attributes in places:
        (x,) = re.findall(r'transform="translate\(([-\d.]+)', attributes)
        # A character of this size is at most 8 pixels wide.
        reach = 8 * len(label)
        left = float(x) - (reach if 'text-anchor="end"' in attributes else 0)
        assert 0 <= left <= left + reach <= width
