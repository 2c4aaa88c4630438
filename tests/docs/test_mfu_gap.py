"""Act 2: one set of stage times behind every number, physics in every state, texts that say what the numbers say."""

from __future__ import annotations

import re
from itertools import pairwise, product
from typing import Any

import pytest

from engine import GB, accelerator, fits, training_memory
from plugins.live import Value
from plugins.live.runtime.acts import LoadedAct
from plugins.live.runtime.records import MeasuredRecord
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
PREDICTIONS = (0, 12, 33, 35, 41, 80, 100)
CHARTS = ("iteration", "gauges", "batch", "overlap")


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded(NAME)


def state(act: LoadedAct, setting: tuple[bool, str, bool, int], prediction: float | None = 80) -> dict[str, Any]:
    prefetch, precision, checkpointing, batch = setting
    return state_of(act, prediction, prefetch=prefetch, precision=precision, checkpointing=checkpointing, batch=batch)


def view(act: LoadedAct, setting: tuple[bool, str, bool, int]) -> Any:
    return act.compute(state(act, setting))


def need(setting: tuple[bool, str, bool, int]) -> int:
    """The engine's memory, asked directly."""
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


def gauges(shown: Any) -> dict[str, float]:
    return {row["gauge"]: row["value"] for row in shown["data"]["gauges"]}


# ---- the question ----


def test_the_gpu_computes_for_35_percent_of_the_first_profile(act: LoadedAct) -> None:
    question = act.act.question
    assert question
    assert question.answer() == pytest.approx(35)
    assert shares(view(act, (False, "fp32", False, 32))) == pytest.approx({"data": 40, "transfer": 25, "compute": 35})


@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_a_prediction_within_five_points_is_right_and_the_gap_is_told_in_points(
    act: LoadedAct, prediction: float
) -> None:
    verdict: Any = act.reveal(state(act, SETTINGS[-1], prediction))
    assert verdict["correct"] == (abs(prediction - 35) <= 5)
    assert f"You said {prediction} %" in verdict["headline"]
    if not verdict["correct"]:
        assert f"{abs(prediction - 35):.0f} points {'more' if prediction < 35 else 'too high'}" in verdict["headline"]
    if prediction == 80:
        assert "2.3 times" in verdict["headline"]


def test_nothing_tells_the_split_before_the_commit(act: LoadedAct) -> None:
    known = public_text(act)
    assert not [why for why in hidden_texts(act) if why in known]
    assert "35" not in known
    assert "lanes" in known
    for setting in SETTINGS:
        closed: Any = act.compute(state(act, setting, None))
        assert closed["failure"] is None
        assert closed["headline"]["value"] == "?"
        assert [row["part"] for row in closed["data"]["lanes"]] == ["hidden"]


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


def test_both_of_the_sources_profiles_follow_from_one_set_of_stage_times(act: LoadedAct) -> None:
    second = shares(view(act, (True, "mixed", True, 32)))
    assert second["data"] == pytest.approx(5, abs=0.5)
    assert second["transfer"] == pytest.approx(20, abs=1)
    assert second["compute"] + second["recompute"] == pytest.approx(75, abs=1)


def test_the_sources_rule_for_batches_follows_from_the_same_stage_times(act: LoadedAct) -> None:
    rows = view(act, (True, "mixed", False, 32))["tables"]["batch"]["rows"]
    fed = {row["a"]: number(row["d"]) for row in rows}
    assert 55 <= fed["16"] <= 75
    assert 60 <= fed["32"] <= 80
    assert fed["256"] > 90


# ---- the levers ----


def test_prefetching_is_the_largest_single_lever_and_no_single_lever_reaches_the_target(act: LoadedAct) -> None:
    start = (False, "fp32", False, 32)
    single = {
        "prefetch": (True, "fp32", False, 32),
        "precision": (False, "mixed", False, 32),
        "checkpointing": (False, "fp32", True, 32),
        **{f"batch {size}": (False, "fp32", False, size) for size in BATCHES},
    }
    rates = {
        name: number(view(act, s)["tables"]["gauges"]["rows"][1]["c"].replace("–", "0")) for name, s in single.items()
    }
    assert max(rates, key=lambda name: rates[name]) == "prefetch"
    assert all(gauges(view(act, setting))["utilization"] < 80 for setting in (start, *single.values()))
    assert max(gauges(view(act, setting))["utilization"] for setting in FITTING) >= 80


def test_the_busiest_setting_is_not_the_fastest(act: LoadedAct) -> None:
    dials = {setting: gauges(view(act, setting)) for setting in FITTING}
    busiest = max(dials, key=lambda setting: dials[setting]["utilization"])
    fastest = max(dials, key=lambda setting: dials[setting]["mfu"])
    assert busiest != fastest
    assert busiest[2]
    assert not fastest[2]


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
    assert shown["headline"]["value"] == f"{used:.0f}"
    assert ("reached" in shown["headline"]["label"]) == (used >= 80)
    assert f"GPU utilization {used:.0f} %" in shown["summary"]
    table = {row["a"]: row["c"] for row in shown["tables"]["iteration"]["rows"]}
    assert number(table["Compute"]) == pytest.approx(parts["compute"], abs=0.051)


def test_the_reveal_calls_45_percent_mfu_impossible_and_names_the_profiles(act: LoadedAct) -> None:
    verdict: Any = act.reveal(state(act, SETTINGS[0]))
    text = " ".join(verdict["paragraphs"])
    assert "“45 % MFU”" in text
    assert "cannot be" in text
    assert "you get 5/20/75" in text
    mfu = gauges(view(act, (False, "fp32", False, 32)))["mfu"]
    assert f"an MFU of {mfu:.0f} %" in text


def test_the_reveals_shares_over_the_batch_name_their_precision_and_are_those_of_the_bench(act: LoadedAct) -> None:
    verdict: Any = act.reveal(state(act, SETTINGS[0]))
    (text,) = (one for one in verdict["paragraphs"] if "Leave loading out" in one)
    for precision, name in (("fp32", "in FP32"), ("mixed", "in mixed")):
        rows = view(act, (True, precision, False, 32))["tables"]["batch"]["rows"]
        fed = {row["a"]: f"{number(row['d']):.0f}" for row in rows}
        assert f"{fed['16']} % at batch 16, {fed['32']} % at batch 32 and {fed['256']} % at batch 256 {name}" in text
    assert need((True, "mixed", False, 256)) > CAPACITY >= need((True, "mixed", True, 256))
    assert "batch 256 fits only with checkpointing" in text


def test_the_walkthrough_shows_source_and_engine_and_no_measurement_that_does_not_exist(act: LoadedAct) -> None:
    verdict: Any = act.reveal(state(act, SETTINGS[0]))
    table = verdict["tables"]["walkthrough"]
    rows = {row["a"].split(",")[0]: row for row in table["rows"]}
    assert (rows["Memory"]["b"], rows["Memory"]["c"]) == ("89", "32")
    exact = training_memory("gpt2-xl", precision="fp32", batch=32).device_total / GB
    assert number(rows["Memory"]["d"]) == pytest.approx(exact, abs=0.051)
    assert (rows["GPU utilization"]["d"], rows["GPU utilization"]["e"]) == ("35", "75")
    assert {row["f"] for row in table["rows"]} == {"not measured yet"}


def test_a_record_of_gpt2_xl_fills_the_measured_column() -> None:
    values: dict[str, Value | None] = {
        "case.model": "gpt2-xl",
        "case.precision": "amp-bf16",
        "case.batch": 8,
        "case.sequence": 1024,
        "utilization.mfu": 0.47,
        "summary.tokens_per_s.median": 15000.0,
        "memory.peak": 60_000_000_000,
    }
    record = MeasuredRecord("gpt2", "gpt2-xl-amp-bf16", "a100", "NVIDIA A100", "2025-11-20", "ok", values)
    act = loaded(NAME, record)
    verdict: Any = act.reveal(state_of(act, 80))
    table = verdict["tables"]["walkthrough"]
    assert [row["f"] for row in table["rows"]] == ["60.0", "not measured yet", "47", "15,000", "not measured yet"]
    assert "NVIDIA A100, 2025-11-20, batch 8 × 1,024" in table["caption"]


# ---- the reflections ----


FIXES = ("gpu", "sgd", "prefetch", "batch", "none")


def best_fixes(act: LoadedAct, setting: tuple[bool, str, bool, int]) -> list[str]:
    answers: dict[str, Any] = {fix: act.check("bottleneck", {"fix": fix}, state(act, setting)) for fix in FIXES}
    return [fix for fix, feedback in answers.items() if feedback["fix"]["correct"]]


@pytest.mark.parametrize("setting", FITTING)
def test_the_best_next_change_is_prefetching_until_it_is_on(
    act: LoadedAct, setting: tuple[bool, str, bool, int]
) -> None:
    assert best_fixes(act, setting) == (["gpu"] if setting[0] else ["prefetch"])


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
    right = []
    for factor in (2, 3, 4, 12):
        feedback: Any = act.check(
            "checkpointing", {"factor": factor, "cost": 33, "why": "recompute"}, state(act, setting)
        )
        assert feedback["cost"]["correct"]
        assert feedback["why"]["correct"]
        right += [factor] if feedback["factor"]["correct"] else []
    assert len(right) == 1
    assert right == [{16: 2, 32: 3, 64: 3, 128: 4, 256: 4}[setting[3]]] or setting[1] == "fp32"
    if setting[3] >= 128:
        assert right == [4]


# ---- the charts ----


@pytest.mark.parametrize("chart", CHARTS)
def test_charts_use_the_pages_colors_and_keep_their_size(act: LoadedAct, chart: str) -> None:
    described: Any = act.describe()
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
