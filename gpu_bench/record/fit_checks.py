"""What must hold of the trials of a search for what fits: they are its walk, and each is possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from gpu_bench.cases.card import trial
from gpu_bench.cases.kinds import FitCase
from gpu_bench.cases.walk import following, walk
from gpu_bench.machine import provenance
from gpu_bench.predict.prediction import predicted_batch, predicted_peak
from gpu_bench.record import bounds, floors
from gpu_bench.record.derive import trials_by_policy
from gpu_bench.record.failure_checks import memory_faults, names_memory


def fit_faults(case: FitCase, record: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the trials of a search."""
    fit = record["fit"]
    tried = [(one["policy"], one["batch"]) for one in fit["trials"]]
    if len({*tried}) != len(tried) or not {*tried} <= {(p, b) for p in case.policies for b in case.batches}:
        yield "fit.trials are not among the case's policies and batches, each at most once"
        return
    if [result["policy"] for result in fit["policies"]] != list(case.policies):
        yield "fit.policies are not the case's policies"
        return
    yield from _walk_faults(case, fit)
    yield from _time_faults(case, record)
    yield from _context_faults(record)
    for one in fit["trials"]:
        yield from _trial_faults(case, record, one)
    for policy, trials in trials_by_policy(fit).items():
        ordered = sorted(trials, key=lambda one: int(one["batch"]))
        peaks = [one["peak"] for one in ordered if one["outcome"] == "fits" and one["peak"] is not None]
        if peaks != sorted(peaks):
            yield f"a larger batch of policy {policy!r} takes less memory"
    if record["provenance"]["sources"] == provenance.source_hash():
        for result in fit["policies"]:
            if result["predicted_batch"] != predicted_batch(case, result["policy"], record["device"]["type"]):
                yield f"the predicted batch of policy {result['policy']!r} is not the engine's"


def _walk_faults(case: FitCase, fit: Mapping[str, Any]) -> Iterator[str]:
    """Where the trials leave the walk that the search makes from each policy's predicted batch by what they came to."""
    trials = iter(fit["trials"])
    for result in fit["policies"]:
        policy, start = result["policy"], result["predicted_batch"]
        if start is not None and start not in case.batches:
            yield f"the predicted batch of policy {policy!r} is {start}, which the case does not try"
            return
        steps = walk(case.batches, start)
        batch: int | None = next(steps)
        while batch is not None:
            one = next(trials, None)
            if one is None or (one["policy"], one["batch"]) != (policy, batch):
                told = "end" if one is None else f"go on with batch {one['batch']} of policy {one['policy']!r}"
                yield f"the search tries batch {batch} of policy {policy!r} next, and fit.trials {told}"
                return
            batch = following(steps, one["outcome"])
    if (one := next(trials, None)) is not None:
        yield f"the search is over, and fit.trials go on with batch {one['batch']} of policy {one['policy']!r}"


def _time_faults(case: FitCase, record: Mapping[str, Any]) -> Iterator[str]:
    """Whether trials last longer than each may, or than all did. Half of the steps took the median or more."""
    most, alone = provenance.lasted(record["provenance"]["repeats"][0]), case.time_limit_s / 2
    total = 0.0
    for one in record["fit"]["trials"]:
        took = alone if one["outcome"] == "timeout" else case.steps / 2 * (one["step_s"] or 0.0)
        if took > alone:
            yield f"trial {one['policy']} {one['batch']}: {case.steps} steps do not end within {alone:.0f} s"
        total += took
    if total > most:
        yield f"trials of {total:.0f} s do not fit into a repeat of {most:.0f} s"


def _context_faults(record: Mapping[str, Any]) -> Iterator[str]:
    """Whether a context was counted where a larger GPU emulates the card, and is less than the card."""
    fit = record["fit"]
    context, limit = fit["context"], fit["limit"]
    counted = record["device"]["type"] == "cuda" and limit is not None
    if counted and context is None and any(one["outcome"] == "fits" for one in fit["trials"]):
        yield "fit.context is missing, which is counted where a GPU emulates the card"
    if context is not None and not counted:
        yield f"fit.context is {context} B, and no GPU emulates a card"
    if context is not None and limit is not None and context >= limit:
        yield f"fit.context is {context} B of a card of {limit} B"


def _trial_faults(case: FitCase, record: Mapping[str, Any], one: Mapping[str, Any]) -> Iterator[str]:
    name, measured, device = f"trial {one['policy']} {one['batch']}", one["outcome"] == "fits", record["device"]
    if measured != (one["peak"] is not None) or measured != (one["step_s"] is not None):
        yield f"{name} is {one['outcome']}; peak and time are of those that fit"
        return
    if measured != (one["message"] is None):
        yield f"{name} is {one['outcome']}, its message is {one['message']!r}"
    training, room = trial(case, one["policy"], one["batch"]), record["fit"]["limit"] or device["memory"]
    if one["outcome"] == "oom":
        needed = predicted_peak(training, device["type"])
        yield from (f"{name}: {told}" for told in memory_faults(one["message"] or "", needed, room))
    elif not measured and names_memory(one["message"] or ""):
        yield f"{name} is {one['outcome']}, and its message says that memory ran out"
    if not measured:
        return
    if one["peak"] > room:
        yield f"{name} fits, and its peak is above the limit"
    if one["peak"] < (least := floors.peak_bytes(training)):
        yield f"{name} peaks at {one['peak']} B; weights, states and what the backward pass needs are {least} B"

    least_s = floors.step_seconds(training, partial(bounds.flops_per_s, record), bounds.bytes_per_s(device))
    if one["step_s"] < least_s:
        yield f"{name} takes {one['step_s']:.3g} s a step; no device needs less than {least_s:.3g} s"
