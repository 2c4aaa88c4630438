"""What must hold of a training record: its samples, figures, losses, memory, status and prediction agree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from gpu_bench.cases.case import SHORTEST_ENERGY_S, TrainingCase
from gpu_bench.cases.sizes import config_of, product_shapes, remainder_tolerance
from gpu_bench.machine import provenance
from gpu_bench.machine.chips import chip_of, compute_format, fastest_product, format_peak
from gpu_bench.machine.nvml import throttled
from gpu_bench.predict.prediction import predict, predicted_mfu, shape_of, textbook
from gpu_bench.record.assembly import (
    divergences,
    loss_summary,
    perplexity,
    price,
    step_summary,
    training_flops,
    utilization,
)
from gpu_bench.record.spread import LAST, LONGEST_WARMUP, STEADY, narrow, variation

_WIDTHS = {"bf16": 2, "fp16": 2, "bf16-master": 2, "bf16-rounded": 2, "fp8-master": 2}
"""Bytes of a parameter by precision; four elsewhere."""
_ALIVE_AT_PEAK = ("parameters", "optimizer", "workspace")
"""Predicted components that are alive at every moment."""
_STATES: Mapping[str, tuple[str, ...]] = {
    "sgd": (),
    "momentum": ("momentum_buffer",),
    "rmsprop": ("square_avg",),
    "adam": ("exp_avg", "exp_avg_sq"),
    "adamw": ("exp_avg", "exp_avg_sq"),
}
"""State vectors that are as long as the parameters."""


def training_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the blocks of a measured training case, and with its status."""
    samples, summary, used = record["samples"], record["summary"], record["utilization"]
    yield from _sample_faults(case, record)
    yield from _warmup_faults(case, record)
    yield from _compile_faults(case, record)
    tokens = case.tokens_per_step
    if summary != step_summary(tokens, samples["step_s"]):
        yield "summary does not follow from samples.step_s"
    flops = training_flops(case)
    if record["flops"] != flops:
        yield "flops do not follow from the case"
    yield from _utilization_faults(case, record, flops, float(summary["step_s"]["median"]))
    yield from _loss_faults(case, record)
    yield from _course_faults(case, record)
    yield from _model_faults(case, record)
    yield from _memory_faults(case, record)
    yield from _status_faults(case, record)
    yield from _energy_faults(case, record)
    for name in ("mfu_causal", "matmul_share_causal", "formats_share", "mfu", "hfu", "matmul_share"):
        equivalent = compute_format(case.precision) == "fp8" and name.startswith("matmul")
        if used[name] is not None and used[name] > 1 and not equivalent:
            yield f"utilization.{name} is {used[name]:.3f}: no step is faster than its device"


def _sample_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    samples = record["samples"]
    steps = [len(row) for row in samples["step_s"]]
    exact = not case.timed_s
    if len(steps) != case.repeats or any(n < case.steps or (exact and n != case.steps) for n in steps):
        yield f"samples are not {case.repeats} repeats of {case.steps} steps"
    lengths = {len(samples["warmup_s"]), len(samples["warmup_settled"]), *map(len, record["compile"].values())}
    if lengths != {case.repeats} or not all(samples["warmup_s"]):
        yield f"warm-up and compilation are not those of {case.repeats} repeats"
    if any(second <= 0 for row in (*samples["step_s"], *samples["warmup_s"]) for second in row):
        yield "a step took no time"
    if any(sum(row) < case.timed_s and not narrow(row) for row in samples["step_s"]):
        yield f"timed steps are shorter than {case.timed_s} s, and their median is not known well enough"
    for row, warm, repeat in zip(samples["step_s"], samples["warmup_s"], record["provenance"]["repeats"], strict=False):
        if sum(row) + sum(warm) > provenance.lasted(repeat):
            yield f"steps of {sum(row) + sum(warm):.1f} s do not fit into a repeat of {provenance.lasted(repeat):.0f} s"


def _warmup_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    """Whether warm-up ended as `clock.warm_up` ends it."""
    samples, graphs, steady = record["samples"], record["compile"]["graphs"], STEADY[record["device"]["type"]]
    for row, settled, compiled in zip(samples["warmup_s"], samples["warmup_settled"], graphs, strict=False):
        calm = len(row) >= LAST and variation(row[-LAST:]) < steady
        longest = (LONGEST_WARMUP * case.warmup, LONGEST_WARMUP * case.warm_s)
        if settled and not (calm and len(row) >= case.warmup and sum(row) >= case.warm_s):
            yield "warm-up counts as settled, and its steps are too few, too short or not steady"
        if not settled and (len(row) < longest[0] or sum(row) < longest[1] or (calm and not compiled)):
            yield "warm-up counts as not settled, and its steps are steady, or more should have followed"
        if not settled and not case.warm_s and len(row) != max(longest[0], 1):
            yield f"warm-up that does not settle has {longest[0]} steps, not {len(row)}"


def _compile_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    found = record["compile"]
    for seconds, graphs, warm in zip(found["seconds"], found["graphs"], record["samples"]["warmup_s"], strict=False):
        if (seconds is None) != (graphs == 0):
            yield f"{graphs} graphs took {seconds} s to compile"
        if seconds is not None and seconds > sum(warm):
            yield f"compiling took {seconds} s of a warm-up of {sum(warm)} s"
    eager = case.compile == "none" and case.update != "flat"
    if eager and any((*found["graphs"], *found["graphs_while_timed"])):
        yield "graphs were compiled in a case that compiles nothing"


def _energy_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    tokens, summary = case.tokens_per_step, record["summary"]
    energy, cost = record["energy"], record["cost"]
    if energy["energy_j"] is not None:
        if energy["per_token_j"] != energy["energy_j"] / (energy["steps"] * tokens):
            yield "energy.per_token_j does not follow from energy_j, steps and tokens"
        if energy["mean_power_w"] != energy["energy_j"] / energy["window_s"]:
            yield "energy.mean_power_w does not follow from energy_j and window_s"
        took = energy["steps"] * summary["step_s"]["median"]
        if energy["window_s"] < SHORTEST_ENERGY_S or not 0.5 < took / energy["window_s"] < 2:
            yield f"energy: {energy['steps']} steps do not take the {energy['window_s']:.0f} s of its window"
        limit = record["device"]["power_limit_w"]
        if limit is not None and energy["mean_power_w"] > 1.1 * limit:
            yield f"energy.mean_power_w is {energy['mean_power_w']:.0f} W above a limit of {limit:.0f} W"
    elif any(value is not None for value in energy.values()):
        yield "energy has parts without energy_j"
    if cost is not None:
        if cost["usd_per_1e9_tokens"] != price(cost["usd_per_hour"], tokens / summary["step_s"]["median"]):
            yield "cost.usd_per_1e9_tokens does not follow from usd_per_hour and the median step"
        if chip_of(record["device"]["name"]) is None:
            yield "cost is there, and the chip has no price on record"


def _utilization_faults(
    case: TrainingCase, record: Mapping[str, Any], flops: Mapping[str, int], step_s: float
) -> Iterator[str]:
    used, name = record["utilization"], record["device"]["name"]
    own = compute_format(case.precision)
    main = "bf16" if own == "fp8" else own
    peaks = {
        "format": main,
        "specified": format_peak(name, main),
        "specified_fp8": format_peak(name, "fp8") if own == "fp8" else None,
        # Version 2 kept one product, a large square, without its shape.
        "ceilings": used["ceilings"] if record["provenance"]["sources"] else _one_ceiling(used, main),
    }
    derived = utilization(flops, peaks, step_s)
    for field, value in derived.items():
        if field != "ceilings" and used[field] != value:
            yield f"utilization.{field} is {used[field]}, by the samples and the data sheet it is {value}"
    if own != "fp8" and any(used[name] is not None for name in ("fp8_matmul_ceiling", "fp8_specified_peak")):
        yield "utilization has FP8 ceilings without FP8"
    if used["ceilings"]:
        shapes = product_shapes(case, used["ceilings"][-1]["m"])
        forms = ("bf16", "fp8") if own == "fp8" else (own,)
        asked = [(f, *s, fast) for f in forms for s in shapes for fast in ((True, False) if f == "fp8" else (None,))]
        found = [
            tuple(one[name] for name in ("format", "m", "n", "k", "fast_accumulation")) for one in used["ceilings"]
        ]
        if found != asked:
            yield f"utilization.ceilings are {len(found)} products, and not the {len(asked)} of the case's shapes"
    for one in used["ceilings"]:
        peak = fastest_product(name, one["format"])
        if one["format"] not in (main, own) or (peak is not None and one["flops_per_s"] > peak):
            yield f"a measured product of {one['flops_per_s']:.3g} FLOP/s in {one['format']} is beyond the data sheet"
        if (one["fast_accumulation"] is None) != (one["format"] != "fp8"):
            yield "fast accumulation is said of FP8 products, and of no others"


def _one_ceiling(used: Mapping[str, Any], main: str) -> list[dict[str, Any]]:
    pairs = ((main, used["matmul_ceiling"]), ("fp8", used["fp8_matmul_ceiling"]))
    return [
        {"format": name, "fast_accumulation": None, "flops_per_s": rate} for name, rate in pairs if rate is not None
    ]


def _loss_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    loss, samples = record["loss"], record["samples"]
    steps = len(samples["warmup_s"][0]) + len(samples["step_s"][0])
    if len(loss["curve"]) != steps:
        yield f"the loss curve has {len(loss['curve'])} points for {steps} steps"
    derived = loss_summary(loss["curve"], len(samples["warmup_s"][0]))
    if {**derived, "same_in_all_repeats": loss["same_in_all_repeats"]} != loss:
        yield "loss does not follow from its curve"
    if case.repeats == 1 and not loss["same_in_all_repeats"]:
        yield "loss.same_in_all_repeats is said of one repeat"
    guess = math.log(config_of(case).vocab)
    # Freshly initialised, a model knows next to nothing: its loss is that of guessing.
    if loss["first"] is not None and not 0.5 * guess < loss["first"] < 2 * guess:
        yield f"the first loss is {loss['first']}; guessing among {config_of(case).vocab} tokens costs {guess:.2f}"
    if any(one is not None and not 0 <= one < 100 * guess for one in loss["curve"]):
        yield "a loss is negative, or as large as that of no model"


def _course_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    course = record.get("course")
    if (course is None) != (not case.validate_every):
        yield f"course belongs to a case that validates; validate_every is {case.validate_every}"
    if course is None:
        return
    points, losses = course["points"], [point["validation_loss"] for point in course["points"]]
    if [point["step"] for point in points] != list(range(case.validate_every, case.steps + 1, case.validate_every)):
        yield f"course.points are not those of every {case.validate_every} of {case.steps} steps"
    if len(course["gradient_norms"]) != len(record["samples"]["step_s"][0]):
        yield "course.gradient_norms are not those of the timed steps"
    if record["status"] != "diverged" and {norm is None for norm in course["gradient_norms"]} != {not case.clip_norm}:
        yield "course.gradient_norms are there where gradients are clipped, and only there"
    if course["divergences"] != divergences(record["loss"]["curve"]):
        yield "course.divergences do not follow from the loss curve"
    if not losses or course["perplexity"] != perplexity(losses[-1]):
        yield "course.perplexity does not follow from the last validation loss"
    most = 2 * math.log(config_of(case).vocab)
    if record["status"] != "diverged" and any(loss is None or loss > most for loss in losses):
        yield f"a validation loss is not finite, or far above that of guessing, {most / 2:.2f}"
    for point in points:
        held, asked, most_bytes = point["allocated"], point["reserved"], record["device"]["memory"] or math.inf
        if (held is None) != (record["device"]["type"] == "cpu") or (held is None) != (asked is None):
            yield "course.points have the memory of a GPU, and only of a GPU"
        elif held is not None and not held <= asked <= most_bytes:
            yield f"course.points hold {held} B of {asked} B"


def _model_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    config = config_of(case)
    expected = {"parameters": shape_of(case, padded=True).parameters, **asdict(config)}
    # The model of somebody else's package may count other parameters.
    if record["model"] != expected and case.implementation == "own":
        yield "model does not follow from the case"
    data = record["data"]
    if data["files"] > data["bytes"]:
        yield f"data has {data['files']} files in {data['bytes']} B"
    if not data["tokens"] <= data["bytes"] or data["tokens"] <= case.sequence:
        yield f"data has {data['tokens']} tokens in {data['bytes']} B"
    pairs = "byte pairs" in data["tokenizer"]
    # A part of the text that is held back for validation is not trained on.
    whole = data["tokens"] == data["bytes"] or bool(case.validate_every)
    if pairs != (config.vocab > 50_000) or (not pairs and not whole):
        yield "data.tokenizer is not that of the model's vocabulary, or of the tokens"
    ran = record["attention_ran"]
    if ran is not None:
        if (ran == ["standard"]) != (case.attention == "standard"):
            yield f"attention_ran is {ran}, the case's form is {case.attention}"
        # Kernels without a name in the profile are not checked.
        if case.attention_kernel != "auto" and ran and case.attention_kernel not in ran:
            yield f"attention_ran is {ran}, the case asks for {case.attention_kernel}"


def _memory_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    memory, held, peak = record["memory"], record["memory"]["held"], record["memory"]["peak"]
    total = sum(memory["at_peak"].values())
    if total != peak:
        yield f"memory components sum to {total} B, the peak is {peak} B"
    if abs(memory["at_peak"]["remainder"]) > memory["tolerance"]:
        yield f"memory remainder {memory['at_peak']['remainder']} B exceeds {memory['tolerance']} B"
    tolerance = remainder_tolerance(case, peak, record["device"]["type"])
    # Version 2 allowed a CPU's kernels no workspace.
    allowed = (tolerance,) if record["provenance"]["sources"] else (tolerance, int(0.05 * peak))
    if memory["tolerance"] not in allowed:
        yield f"memory.tolerance is {memory['tolerance']} B, for a peak of {peak} B it is {tolerance} B"
    for name in ("activations", "cast_weights"):
        if held[name] > peak:
            yield f"memory.held.{name} is {held[name]} B above the peak, {peak} B"
    if sum(held["optimizer"].values()) != held["optimizer_total"]:
        yield "memory.held.optimizer_total is not the sum of the optimizer's vectors"
    yield from _state_faults(case, record)
    device, limit = record["device"]["memory"], case.memory_limit
    if (device is not None and peak > device) or (limit and peak > limit):
        yield f"memory.peak is {peak} B, more than there is"
    cuda = memory["cuda"]
    if (cuda is None) != (record["device"]["type"] == "cpu"):
        yield "memory.cuda belongs to a GPU"
    if cuda is not None:
        if cuda["allocated_peak"] != peak:
            yield "memory.cuda.allocated_peak is not the peak"
        if not cuda["allocated_peak"] <= cuda["reserved_peak"] <= (device or math.inf):
            yield "memory.cuda.reserved_peak is not between what was allocated and what there is"


def _state_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    memory, held = record["memory"], record["memory"]["held"]
    weights = record["model"]["parameters"] * _WIDTHS.get(case.precision, 4)
    # Long vectors, graphs and copies in other formats hold the same numbers in other places.
    plain = case.implementation == "own" and case.update != "flat" and not case.step_graph
    plain = plain and not case.precision.endswith(("master", "rounded"))
    if not plain:
        return
    if held["parameters"] != weights or memory["at_peak"]["parameters"] != weights:
        yield f"memory of the parameters is not {weights} B"
    if held["gradients"] > weights or (not case.optimizer_in_backward and held["gradients"] != weights):
        yield f"memory of the gradients is {held['gradients']} B, that of the parameters {weights} B"
    if case.optimizer in _STATES:
        vectors = {name: size for name, size in held["optimizer"].items() if name != "step"}
        if vectors != dict.fromkeys(_STATES[case.optimizer], weights):
            yield f"the state of {case.optimizer} is {vectors}"
    elif held["optimizer_total"] > 2 * weights:
        yield f"the state of {case.optimizer} is larger than two copies of the weights"


def _status_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    states: list[Mapping[str, Any] | None] = [one["gpu"] for one in record["provenance"]["repeats"]]
    if record["device"]["type"] == "cpu" and (case.step_graph or any(state is not None for state in states)):
        yield "a CPU has no GPU's clocks, and no CUDA graphs"
    found = {
        # Other repeats' losses are not kept, so only the first one's can be told.
        "diverged": None in record["loss"]["curve"] or (record["status"] == "diverged" and case.repeats > 1),
        "recompiled": any(record["compile"]["graphs_while_timed"]),
        # Version 2 did not look at this.
        "unsettled": case.steady
        and not all(record["samples"]["warmup_settled"])
        and record["provenance"]["sources"] is not None,
        "throttled": any(throttled(state) for state in states),
    }
    worst = next((status for status, holds in found.items() if holds), "ok")
    if record["status"] != worst:
        yield f"status is {record['status']}, by what was measured it is {worst}"


def prediction_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the engine's prediction, which a record has whether or not the case could run."""
    told = record["predicted"]
    seconds = told["step_s"]
    if told["tokens_per_s"] != (case.tokens_per_step / seconds if seconds else None):
        yield "predicted.tokens_per_s does not follow from predicted.step_s"
    if told["textbook"] != textbook(case):
        yield "predicted.textbook does not follow from the case"
    memory = told["memory"]
    weights = shape_of(case, padded=True).parameters * _WIDTHS.get(case.precision, 4)
    if memory is not None and (memory["parameters"] != weights or memory["peak"] < weights):
        yield f"predicted.memory.parameters is {memory['parameters']} B, by the case it is {weights} B"
    mfu = predicted_mfu(case, seconds, record["device"]["name"])
    if told["mfu"] != mfu or (mfu is not None and mfu > 1):
        yield f"predicted.mfu is {told['mfu']}, by predicted.step_s it is {mfu}"
    if memory is not None and sum(memory[name] for name in _ALIVE_AT_PEAK) > memory["peak"]:
        yield "predicted.memory has parts that are larger than its peak"
    if memory is not None and any(value > memory["peak"] for value in memory.values()):
        yield "predicted.memory has a part that is larger than its peak"
    now = predict(case, record["device"])
    if record["provenance"]["sources"] == provenance.source_hash():
        if told != now:
            yield "predicted is not what the engine predicts"
        return
    # A prediction stands as an earlier engine made it; one that is far from the present engine's was made by none.
    for name in ("memory", "step_s"):
        one, other = (value["peak"] if isinstance(value, Mapping) else value for value in (told[name], now[name]))
        if one and other and not 0.25 < one / other < 4:
            yield f"predicted.{name} is {one}, the engine predicts {other}"
