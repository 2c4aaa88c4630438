"""What a schema cannot say of a record: what must follow from the samples, what must sum up, what physics allows.

Everything derived is computed again from the raw part of the record, by the functions that made it. What is left is
what only the machine knew: times, allocations, its own name. A step faster than the device's peak, more memory than it
has, or samples longer than the run are refused.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from gpu_bench import RELEASED
from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.cases.kinds import FitCase, OperationsCase, RooflineCase, case_from_dict
from gpu_bench.cases.sizes import config_of, remainder_tolerance
from gpu_bench.machine import provenance
from gpu_bench.machine.chips import chip_of, compute_format, format_peak
from gpu_bench.machine.nvml import abnormal, throttled
from gpu_bench.predict.prediction import predict, predicted_batch, predicted_mfu, shape_of, textbook
from gpu_bench.record.assembly import (
    BLOCKS,
    MEASURED,
    loss_summary,
    point_rates,
    price,
    step_summary,
    training_flops,
    utilization,
)
from gpu_bench.record.spread import summarize

_TIME = "%Y-%m-%dT%H:%M:%SZ"
_CACHED_BYTES = 2**30
"""Traffic below this may stay in a cache, which is faster than the memory behind it."""
_WIDTHS = {"bf16": 2, "fp16": 2, "bf16-master": 2, "bf16-rounded": 2, "fp8-master": 2}
"""Bytes of a parameter by precision; four elsewhere."""
_ALIVE_AT_PEAK = ("parameters", "optimizer", "workspace")
"""Predicted components that are alive at every moment."""
_BOOST = 1.2
"""How far the clock of a GeForce card may rise above the one that its data sheet counts with."""
_STATES: Mapping[str, tuple[str, ...]] = {
    "sgd": (),
    "momentum": ("momentum_buffer",),
    "rmsprop": ("square_avg",),
    "adam": ("exp_avg", "exp_avg_sq"),
    "adamw": ("exp_avg", "exp_avg_sq"),
}
"""State vectors that are as long as the parameters."""


def inconsistencies(record: Mapping[str, Any]) -> list[str]:
    """One sentence per fault; none when the record is consistent."""
    try:
        return list(_faults(record))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        return [f"a part that the checks need is missing or malformed: {type(error).__name__}: {error}"]


def _faults(record: Mapping[str, Any]) -> Iterator[str]:
    case = case_from_dict(record["case"])
    if case.as_dict() != record["case"]:
        yield "the case is not written as the tool writes it"
    if record["name"] != case.name:
        yield f"name is {record['name']!r}, the case's is {case.name!r}"
    yield from _machine_faults(record)
    yield from _time_faults(record)
    if record["predicted"] is not None:
        assert isinstance(case, TrainingCase)
        yield from _prediction_faults(case, record)
    if record["status"] not in MEASURED:
        yield from _failure_faults(record)
        return
    if record["withheld"] is not None:
        yield f"status is {record['status']}, and something is withheld"
    if (record["status"] == "ok") != (record["message"] is None):
        yield f"status is {record['status']}, the message is {record['message']!r}"
    if len(record["provenance"]["repeats"]) != case.repeats:
        yield f"there are {len(record['provenance']['repeats'])} repeats, the case has {case.repeats}"
    if isinstance(case, TrainingCase):
        yield from _training_faults(case, record)
    elif isinstance(case, FitCase):
        yield from _fit_faults(case, record)
    else:
        yield from _points_faults(case, record)


def _failure_faults(record: Mapping[str, Any]) -> Iterator[str]:
    if not record["message"]:
        yield f"status is {record['status']} without a message that says why"
    for block in BLOCKS:
        if block != "predicted" and record[block] is not None:
            yield f"status is {record['status']}, and {block} is there"


# --- where and when ---------------------------------------------------------------------------------------------------


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)", "", text.lower())).strip("-")


def _machine_faults(record: Mapping[str, Any]) -> Iterator[str]:
    device, ran, case = record["device"], record["provenance"], record["case"]
    if device["type"] == "cuda":
        slug = _slug(device["name"] or "")
    else:
        cores = f"{ran['cores']}c" if ran["cores"] else ""
        slug = "-".join(part for part in ("cpu", _slug(device["name"] or ""), cores) if part)
        if device["name"] != ran["cpu"] or device["memory"] != ran["memory"] or device["power_limit_w"] is not None:
            yield "the device is a CPU, and not the machine's"
        if any(ran[name] is not None for name in ("cuda", "cudnn", "driver", "nccl")):
            yield "the device is a CPU, and the software is a GPU's"
    if device["slug"] != slug:
        yield f"device.slug is {device['slug']!r}, of the name {device['name']!r} it is {slug!r}"
    if case["device"] == "cuda" and device["type"] != "cuda":
        yield "the case needs a GPU, the device is none"
    if device["memory"] is not None and device["memory"] < case["minimum_memory"]:
        yield f"the case needs {case['minimum_memory']} B, the device has {device['memory']} B"
    chip = chip_of(device["name"])
    # The driver and its error correction keep a few percent; a part of a GPU has less.
    if chip is not None and not 0.05 < (device["memory"] or 0) / chip.memory_bytes <= 1.1:
        yield f"device.memory is {device['memory']} B, a {device['name']} has {chip.memory_bytes:.0f} B"


def _moment(text: str) -> datetime:
    return datetime.strptime(text, _TIME).replace(tzinfo=UTC)


def _time_faults(record: Mapping[str, Any]) -> Iterator[str]:
    ran = record["provenance"]
    moments = [_moment(ran["started"])]
    if record["status"] in MEASURED and ran["started"] != ran["repeats"][0]["started"]:
        yield "provenance.started is not the first repeat's"
    if ran["finished"] != ran["repeats"][-1]["finished"]:
        yield "provenance.finished is not the last repeat's"
    for one in ran["repeats"]:
        moments += [_moment(one["started"]), _moment(one["finished"])]
    moments.append(_moment(ran["finished"]))
    if moments != sorted(moments):
        yield "the repeats' times are not one after the other"
    # A clock that runs before the day on which this version was made is wrong itself.
    latest = max(datetime.now(UTC), _moment(RELEASED)) + timedelta(days=1)
    if moments[-1] > latest:
        yield f"provenance.finished is {ran['finished']}, which is still to come"
    if moments[0] < _moment("2025-01-01T00:00:00Z"):
        yield f"provenance.started is {ran['started']}, before there was anything to run"
    if ran["host"] != ran["repeats"][0]["host"]:
        yield "provenance.host is not the first repeat's"


def _lasted(repeat: Mapping[str, Any]) -> float:
    """Seconds of a repeat; times are written to the second."""
    return (_moment(repeat["finished"]) - _moment(repeat["started"])).total_seconds() + 2


# --- training ---------------------------------------------------------------------------------------------------------


def _training_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    samples, summary, used = record["samples"], record["summary"], record["utilization"]
    yield from _sample_faults(case, record)
    tokens = case.tokens_per_step
    if summary != step_summary(tokens, samples["step_s"]):
        yield "summary does not follow from samples.step_s"
    flops = training_flops(case)
    if record["flops"] != flops:
        yield "flops do not follow from the case"
    yield from _utilization_faults(case, record, flops, float(summary["step_s"]["median"]))
    yield from _loss_faults(case, record)
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
    for row, warm, repeat in zip(samples["step_s"], samples["warmup_s"], record["provenance"]["repeats"], strict=False):
        if sum(row) + sum(warm) > _lasted(repeat):
            yield f"steps of {sum(row) + sum(warm):.1f} s do not fit into a repeat of {_lasted(repeat):.0f} s"


def _energy_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    tokens, summary = case.tokens_per_step, record["summary"]
    energy, cost = record["energy"], record["cost"]
    if energy["energy_j"] is not None:
        if energy["per_token_j"] != energy["energy_j"] / (energy["steps"] * tokens):
            yield "energy.per_token_j does not follow from energy_j, steps and tokens"
        if energy["mean_power_w"] != energy["energy_j"] / energy["window_s"]:
            yield "energy.mean_power_w does not follow from energy_j and window_s"
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
        "ceilings": used["ceilings"] or _one_ceiling(used, main),
    }
    derived = utilization(flops, peaks, step_s)
    for field, value in derived.items():
        if field != "ceilings" and used[field] != value:
            yield f"utilization.{field} is {used[field]}, by the samples and the data sheet it is {value}"
    if own != "fp8" and any(used[name] is not None for name in ("fp8_matmul_ceiling", "fp8_specified_peak")):
        yield "utilization has FP8 ceilings without FP8"
    for one in used["ceilings"]:
        peak = _fastest(name, one["format"])
        if one["format"] not in (main, own) or (peak is not None and one["flops_per_s"] > peak):
            yield f"a measured product of {one['flops_per_s']:.3g} FLOP/s in {one['format']} is beyond the data sheet"
        if (one["fast_accumulation"] is None) != (one["format"] != "fp8"):
            yield "fast accumulation is said of FP8 products, and of no others"


def _fastest(device_name: str | None, form: str) -> float | None:
    """FLOP/s that no product in a format can pass; None when unknown. GeForce cards run above their stated clock."""
    peak, chip = format_peak(device_name, form), chip_of(device_name)
    return peak * _BOOST if peak is not None and chip is not None and chip.family == "geforce" else peak


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
    guess = math.log(config_of(case).vocab)
    # Freshly initialised, a model knows next to nothing: its loss is that of guessing.
    if loss["first"] is not None and not 0.5 * guess < loss["first"] < 2 * guess:
        yield f"the first loss is {loss['first']}; guessing among {config_of(case).vocab} tokens costs {guess:.2f}"
    if any(one is not None and not 0 <= one < 100 * guess for one in loss["curve"]):
        yield "a loss is negative, or as large as that of no model"


def _model_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    config = config_of(case)
    expected = {"parameters": shape_of(case, padded=True).parameters, **asdict(config)}
    # The model of somebody else's package may count other parameters.
    if record["model"] != expected and case.implementation == "own":
        yield "model does not follow from the case"
    data = record["data"]
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
        # A kernel that the profiler does not name says nothing.
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
    if record["device"]["type"] == "cpu" and any(state is not None for state in states):
        yield "a CPU has no GPU's clocks"
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


def _prediction_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
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
    now = predict(case, record["device"])
    if record["provenance"]["sources"] == provenance.source_hash():
        if told != now:
            yield "predicted is not what the engine predicts"
        return
    # The engine learns: what an earlier one predicted stands as it was, but it was no other engine.
    for name in ("memory", "step_s"):
        one, other = (value["peak"] if isinstance(value, Mapping) else value for value in (told[name], now[name]))
        if one and other and not 0.25 < one / other < 4:
            yield f"predicted.{name} is {one}, the engine predicts {other}"


# --- points and fits --------------------------------------------------------------------------------------------------


def _points_faults(case: Case, record: Mapping[str, Any]) -> Iterator[str]:
    points = record["points"]
    labels = [point["label"] for point in points]
    if len({*labels}) != len(labels):
        yield "two points have one label"
    for point in points:
        yield from _point_faults(case, record, point)
    for index, repeat in enumerate(record["provenance"]["repeats"]):
        total = sum(second for point in points for second in point["samples_s"][index])
        if total > _lasted(repeat):
            yield f"samples of {total:.1f} s do not fit into a repeat of {_lasted(repeat):.0f} s"
    told = next(filter(None, (abnormal(one["gpu"]) for one in record["provenance"]["repeats"])), None)
    if record["status"] != ("throttled" if told else "ok"):
        yield f"status is {record['status']}; throttled: {told or 'no'}"


def _point_faults(case: Case, record: Mapping[str, Any], point: Mapping[str, Any]) -> Iterator[str]:
    name, flat = point["label"], [second for row in point["samples_s"] for second in row]
    if len(point["samples_s"]) != case.repeats:
        yield f"point {name!r} does not have {case.repeats} repeats"
    if point["seconds"] != (summarize(flat) if flat else None):
        yield f"seconds of point {name!r} do not follow from its samples"
    if point["rates"] != point_rates(point["work"], statistics.median(flat) if flat else None):
        yield f"rates of point {name!r} do not follow from its work and its samples"
    if (point["status"] == "ok") != (point["message"] is None) or (point["status"] == "ok") != bool(flat):
        yield f"point {name!r} is {point['status']}, its message is {point['message']!r}, its samples are {len(flat)}"
    if any(not 0 <= share <= 1 for share in point["shares"].values()):
        yield f"a share of point {name!r} is outside 0 to 1"
    settings, work = point["settings"], point["work"]
    expected = (case.work_of(settings) if isinstance(case, OperationsCase | RooflineCase) else None) or {}
    if any(work[name] != amount for name, amount in expected.items()):
        yield f"work of point {name!r} does not follow from its settings"
    peak = _fastest(record["device"]["name"], str(settings.get("format")))
    rate = point["rates"]["flops_per_s"]
    if peak is not None and rate is not None and rate > peak:
        yield f"point {name!r} runs at {rate:.3g} FLOP/s, the data sheet has {peak:.3g}"
    chip, moved = chip_of(record["device"]["name"]), point["rates"]["bytes_per_s"]
    if chip is not None and moved is not None and work["bytes"] >= _CACHED_BYTES and moved > chip.bandwidth:
        yield f"point {name!r} moves {moved:.3g} B/s, the data sheet has {chip.bandwidth:.3g}"


def _fit_faults(case: FitCase, record: Mapping[str, Any]) -> Iterator[str]:
    fit, kind = record["fit"], record["device"]["type"]
    if fit["limit"] != case.memory_limit:
        yield f"fit.limit is {fit['limit']} B, the case's is {case.memory_limit} B"
    tried = [(trial["policy"], trial["batch"]) for trial in fit["trials"]]
    if len({*tried}) != len(tried) or not {*tried} <= {(p, b) for p in case.policies for b in case.batches}:
        yield "fit.trials are not among the case's policies and batches, each at most once"
    if [result["policy"] for result in fit["policies"]] != list(case.policies):
        yield "fit.policies are not the case's policies"
    for trial in fit["trials"]:
        measured = trial["outcome"] == "fits"
        if measured != (trial["peak"] is not None) or measured != (trial["step_s"] is not None):
            yield f"trial {trial['policy']} {trial['batch']} is {trial['outcome']}; peak and time are of those that fit"
        if measured and trial["peak"] > case.memory_limit:
            yield f"trial {trial['policy']} {trial['batch']} fits, and its peak is above the limit"
        if measured != (trial["message"] is None):
            yield f"trial {trial['policy']} {trial['batch']} is {trial['outcome']}, its message is {trial['message']!r}"
    same_engine = record["provenance"]["sources"] == provenance.source_hash()
    for result in fit["policies"]:
        yield from _policy_faults(case, fit["trials"], result)
        if same_engine and result["predicted_batch"] != predicted_batch(case, result["policy"], kind):
            yield f"the predicted batch of policy {result['policy']!r} is not the engine's"


def _policy_faults(case: FitCase, trials: Sequence[Mapping[str, Any]], result: Mapping[str, Any]) -> Iterator[str]:
    own = [trial for trial in trials if trial["policy"] == result["policy"]]
    fitting = [trial for trial in own if trial["outcome"] == "fits"]
    best = max(fitting, key=lambda trial: int(trial["batch"]), default=None)
    name = f"policy {result['policy']!r}"
    if result["largest_batch"] != (best["batch"] if best else None):
        yield f"the largest batch of {name} does not follow from the trials"
    if result["peak"] != (best["peak"] if best else None):
        yield f"the peak of {name} does not follow from the trials"
    if result["tokens_per_s"] != (best["batch"] * case.sequence / best["step_s"] if best else None):
        yield f"the speed of {name} does not follow from the trials"
    broken = [trial["outcome"] for trial in own if trial["outcome"] not in ("fits", "oom")]
    if result["ended"] != (broken[-1] if broken else "boundary"):
        yield f"the search of {name} ended by {result['ended']}, by its trials by {broken or 'the boundary'}"
    if any(trial["outcome"] == "oom" and best and trial["batch"] < best["batch"] for trial in own):
        yield f"a batch of {name} does not fit, and a larger one does"
