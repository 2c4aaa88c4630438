"""The fit boundary: the largest batch that trains on an emulated card, for one policy after another.

Every trial is a fresh process, because memory can only be limited before the first allocation and because running out
of it leaves a process in pieces. On a GPU the allocator refuses what the small card would not have; on a CPU, where
nothing refuses, the step's peak is counted and compared with the limit.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from engine.memory.ledger import CUDA_CONTEXT
from gpu_bench.cases import policies
from gpu_bench.cases.case import Case
from gpu_bench.cases.kinds import FitCase
from gpu_bench.machine import provenance
from gpu_bench.measure.unsupported import UnsupportedError
from gpu_bench.predict.prediction import predicted_peak
from gpu_bench.record.assembly import MEASURED
from gpu_bench.run.isolation import work

Trial = dict[str, Any]
"""One step of the search, as it stands in the record."""


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Search the largest batch of every policy.

    Args:
        case: What to search.
        device: Where.
        repeat: Which repeat this is.
    """
    assert isinstance(case, FitCase)
    if case.native:
        _refuse_other_cards(case, device)
    started, load = provenance.utc_now(), provenance.load_average()
    trials: list[Trial] = []
    contexts: list[int] = []

    def attempt(policy: str, batch: int) -> bool:
        training = policies.trial(case, policy, batch)
        # Not the first repeat, which also counts memory by component: counting needs memory itself.
        order = {"task": "train", "case": training.as_dict(), "device": device.type, "repeat": 1}
        report = work(order, case.time_limit_s)
        if report.get("context") is not None:
            contexts.append(report["context"])
        trials.append(_trial(policy, batch, report))
        return bool(trials[-1]["outcome"] == "fits")

    results = [_search_policy(case, policy, device.type, attempt, trials) for policy in case.policies]
    fit = {"limit": case.memory_limit, "context": max(contexts, default=None), "policies": results, "trials": trials}
    return {"status": "ok", "message": None, "fit": fit, "load_average": load, "started": started}


def _refuse_other_cards(case: FitCase, device: torch.device) -> None:
    """Raises `UnsupportedError` on a device that has much more memory than the card, or is no GPU."""
    memory = torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else 0
    if not memory or memory > case.memory_limit * 1.1:
        found = f"this GPU has {memory / 1e9:.1f} GB" if memory else f"this device is {device.type}"
        raise UnsupportedError(f"the case is for a card of {case.memory_limit / 1e9:.1f} GB itself; {found}")


def _search_policy(
    case: FitCase, policy: str, kind: str, attempt: Callable[[str, int], bool], trials: Sequence[Trial]
) -> dict[str, Any]:
    predicted = predicted_batch(case, policy, kind)
    largest = search(case.batches, predicted, lambda batch: attempt(policy, batch))
    best = next((t for t in trials if t["policy"] == policy and t["batch"] == largest), None)
    return {
        "policy": policy,
        "predicted_batch": predicted,
        "largest_batch": largest,
        "peak": best["peak"] if best else None,
        "tokens_per_s": largest * case.sequence / best["step_s"] if best and largest else None,
    }


def predicted_batch(case: FitCase, policy: str, kind: str) -> int | None:
    """The largest of the case's batches whose predicted peak leaves room for the context, or None."""
    room = case.memory_limit - (CUDA_CONTEXT if kind == "cuda" else 0)
    peaks = {batch: predicted_peak(policies.trial(case, policy, batch), kind) for batch in case.batches}
    return max((batch for batch, peak in peaks.items() if peak is not None and peak <= room), default=None)


def search(batches: Sequence[int], start: int | None, fits: Callable[[int], bool]) -> int | None:
    """The largest batch that fits, walking up or down from `start`; None when not even the smallest does.

    A prediction that is right costs two attempts: it fits, and the next one does not. Whether a batch fits is taken to
    be monotonic.

    Args:
        batches: Ascending.
        start: Where to begin; None is the smallest.
        fits: Tries a batch.
    """
    index = batches.index(start) if start in batches else 0
    if fits(batches[index]):
        while index + 1 < len(batches) and fits(batches[index + 1]):
            index += 1
        return batches[index]
    while index > 0:
        index -= 1
        if fits(batches[index]):
            return batches[index]
    return None


def _trial(policy: str, batch: int, report: Mapping[str, Any]) -> Trial:
    """One step of the search from what its process reported."""
    measured = report["status"] in MEASURED
    return {
        "policy": policy,
        "batch": batch,
        "outcome": "fits" if measured else "oom" if report["status"] == "oom" else "error",
        "message": report["message"],
        "peak": report["peak"] if measured else None,
        "step_s": statistics.median(report["timing"]["step_s"]) if measured else None,
    }
