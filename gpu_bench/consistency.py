"""What a schema cannot say of a record: sums that must hold, summaries that must follow from the samples."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_bench.assembly import MEASURED, point_rates
from gpu_bench.spread import summarize


def inconsistencies(record: Mapping[str, Any]) -> list[str]:
    """One sentence per fault; none when the record is consistent."""
    try:
        return list(_faults(record))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, statistics.StatisticsError) as error:
        return [f"a part that the checks need is missing or malformed: {type(error).__name__}: {error}"]


def _faults(record: Mapping[str, Any]) -> Iterator[str]:
    if record["name"] != record["case"]["name"]:
        yield f"name is {record['name']!r}, the case's is {record['case']['name']!r}"
    if record["status"] not in MEASURED:
        if not record["message"]:
            yield f"status is {record['status']} without a message that says why"
        return
    if record["points"] is not None:
        for point in record["points"]:
            yield from _point_faults(point)
    if record["fit"] is not None:
        yield from _fit_faults(record["case"], record["fit"])
    if record["samples"] is not None:
        yield from _training_faults(record)


def _training_faults(record: Mapping[str, Any]) -> Iterator[str]:
    case, samples, summary = record["case"], record["samples"], record["summary"]
    if len(samples["step_s"]) != case["repeats"] or any(len(row) != case["steps"] for row in samples["step_s"]):
        yield f"samples are not {case['repeats']} repeats of {case['steps']} steps"
    seconds = [second for row in samples["step_s"] for second in row]
    if summary["step_s"] != summarize(seconds):
        yield "summary.step_s does not follow from samples.step_s"
    tokens = case["batch"] * case["sequence"] * case["accumulate"]
    if summary["tokens_per_s"] != summarize([tokens / second for second in seconds]):
        yield "summary.tokens_per_s does not follow from samples.step_s"
    yield from _memory_faults(record["memory"])
    steps = len(samples["warmup_s"][0]) + case["steps"]
    if len(record["loss"]["curve"]) != steps:
        yield f"the loss curve has {len(record['loss']['curve'])} points for {steps} steps"
    energy = record["energy"]
    if energy["energy_j"] is not None and energy["per_token_j"] != energy["energy_j"] / (energy["steps"] * tokens):
        yield "energy.per_token_j does not follow from energy_j, steps and tokens"


def _memory_faults(memory: Mapping[str, Any]) -> Iterator[str]:
    total = sum(memory["at_peak"].values())
    if total != memory["peak"]:
        yield f"memory components sum to {total} B, the peak is {memory['peak']} B"
    if abs(memory["at_peak"]["remainder"]) > memory["tolerance"]:
        yield f"memory remainder {memory['at_peak']['remainder']} B exceeds {memory['tolerance']} B"
    held = memory["held"]
    if sum(held["optimizer"].values()) != held["optimizer_total"]:
        yield "memory.held.optimizer_total is not the sum of the optimizer's vectors"


def _point_faults(point: Mapping[str, Any]) -> Iterator[str]:
    flat = [second for row in point["samples_s"] for second in row]
    if point["seconds"] != (summarize(flat) if flat else None):
        yield f"seconds of point {point['label']!r} do not follow from its samples"
    if point["rates"] != point_rates(point["work"], statistics.median(flat) if flat else None):
        yield f"rates of point {point['label']!r} do not follow from its work and its samples"
    if (point["status"] == "ok") != (point["message"] is None):
        yield f"point {point['label']!r} is {point['status']}, its message is {point['message']!r}"


def _fit_faults(case: Mapping[str, Any], fit: Mapping[str, Any]) -> Iterator[str]:
    for result in fit["policies"]:
        fitting = [t["batch"] for t in fit["trials"] if t["policy"] == result["policy"] and t["outcome"] == "fits"]
        if result["largest_batch"] != max(fitting, default=None):
            yield f"the largest batch of policy {result['policy']!r} does not follow from the trials"
    if [result["policy"] for result in fit["policies"]] != list(case["policies"]):
        yield "fit.policies are not the case's policies"
