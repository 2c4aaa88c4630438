"""What must hold of the points of a record, and of a search for what fits."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpu_bench.cases.card import emulates
from gpu_bench.cases.case import Case
from gpu_bench.cases.kinds import FitCase, OperationsCase, RooflineCase
from gpu_bench.machine import provenance
from gpu_bench.machine.chips import chip_of, fastest_product
from gpu_bench.machine.nvml import abnormal
from gpu_bench.predict.prediction import predicted_batch
from gpu_bench.record.assembly import point_rates
from gpu_bench.record.spread import summarize

_CACHED_BYTES = 2**30
"""Traffic below this may stay in a cache, which is faster than the memory behind it."""


def points_faults(case: Case, record: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the points of a measured record, and with its status."""
    points = record["points"]
    labels = [point["label"] for point in points]
    if len({*labels}) != len(labels):
        yield "two points have one label"
    for point in points:
        yield from _point_faults(case, record, point)
    for index, repeat in enumerate(record["provenance"]["repeats"]):
        total = sum(second for point in points for second in point["samples_s"][index])
        if total > provenance.lasted(repeat):
            yield f"samples of {total:.1f} s do not fit into a repeat of {provenance.lasted(repeat):.0f} s"
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
    peak = fastest_product(record["device"]["name"], str(settings.get("format")))
    rate = point["rates"]["flops_per_s"]
    if peak is not None and rate is not None and rate > peak:
        yield f"point {name!r} runs at {rate:.3g} FLOP/s, the data sheet has {peak:.3g}"
    chip, moved = chip_of(record["device"]["name"]), point["rates"]["bytes_per_s"]
    if chip is not None and moved is not None and work["bytes"] >= _CACHED_BYTES and moved > chip.bandwidth:
        yield f"point {name!r} moves {moved:.3g} B/s, the data sheet has {chip.bandwidth:.3g}"


def fit_faults(case: FitCase, record: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the trials of a search, and with what is said to follow from them."""
    fit, kind = record["fit"], record["device"]["type"]
    memory = record["device"]["memory"] if kind == "cuda" else None
    limit = case.memory_limit if emulates(case, memory) else None
    if fit["limit"] != limit:
        yield f"fit.limit is {fit['limit']}, for the case on this device it is {limit}"
    tried = [(trial["policy"], trial["batch"]) for trial in fit["trials"]]
    if len({*tried}) != len(tried) or not {*tried} <= {(p, b) for p in case.policies for b in case.batches}:
        yield "fit.trials are not among the case's policies and batches, each at most once"
    if [result["policy"] for result in fit["policies"]] != list(case.policies):
        yield "fit.policies are not the case's policies"
    for trial in fit["trials"]:
        measured = trial["outcome"] == "fits"
        if measured != (trial["peak"] is not None) or measured != (trial["step_s"] is not None):
            yield f"trial {trial['policy']} {trial['batch']} is {trial['outcome']}; peak and time are of those that fit"
        if measured and trial["peak"] > (limit or memory):
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
