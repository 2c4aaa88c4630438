"""The fit boundary: the largest batch that trains on a card, or on one that is emulated, for one policy after another.

Every trial is a fresh process, because memory can only be limited before the first allocation and because a process
that ran out of it is of no further use. On a larger GPU the allocator refuses what the card would not have; on a CPU,
where nothing refuses, the step's peak is counted and compared with the limit. Only "it ran out of memory" says that a
batch does not fit: a crash or a time limit ends the search of its policy, and is reported as such.

Finished trials are kept in a file as they come, so that a search that was cut off goes on where it stopped.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from gpu_bench.cases import card
from gpu_bench.cases.case import Case
from gpu_bench.cases.kinds import FitCase
from gpu_bench.predict.prediction import predicted_batch
from gpu_bench.record.derive import LARGEST
from gpu_bench.record.judgement import MEASURED
from gpu_bench.record.store import read_json, write_json
from gpu_bench.run.isolation import work

Trial = dict[str, Any]
"""One step of the search, as it stands in the record."""


def run_repeat(case: Case, device: torch.device, repeat: int, kept: Path | None = None) -> dict[str, Any]:
    """Search the largest batch of every policy.

    In `kept` finished trials wait for a process that goes on after this one; None keeps none.
    """
    assert isinstance(case, FitCase)
    limit = case.memory_limit if card.emulates(case, _memory(device)) else None
    saved = (read_json(kept) if kept else None) or {"trials": [], "contexts": []}
    trials: list[Trial] = saved["trials"]
    contexts: list[int] = saved["contexts"]

    def attempt(policy: str, batch: int) -> str:
        known = next((one for one in trials if (one["policy"], one["batch"]) == (policy, batch)), None)
        if known is not None:
            return str(known["outcome"])
        training = replace(card.trial(case, policy, batch), memory_limit=limit or 0)
        # Not the first repeat, which also counts memory by component: counting needs memory itself.
        order = {"task": "train", "case": training.as_dict(), "device": device.type, "repeat": 1}
        report = work(order, case.time_limit_s / 2)
        if report.get("context") is not None:
            contexts.append(report["context"])
        trials.append(_trial(policy, batch, report))
        if kept is not None:
            write_json(kept, {"trials": trials, "contexts": contexts})
        return str(trials[-1]["outcome"])

    results = [_search_policy(case, policy, device.type, attempt) for policy in case.policies]
    fit = {"context": max(contexts, default=None), "policies": results, "trials": trials}
    return {"status": "ok", "message": None, "fit": fit}


def _memory(device: torch.device) -> int | None:
    """Bytes of a GPU's own memory; None of a CPU."""
    return torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else None


def _search_policy(case: FitCase, policy: str, kind: str, attempt: Callable[[str, int], str]) -> dict[str, Any]:
    """Make the trials of a policy. What they say follows from them, and is derived when the record is read."""
    predicted = predicted_batch(case, policy, kind)
    search(case.batches, predicted, lambda batch: attempt(policy, batch))
    return {"policy": policy, "predicted_batch": predicted}


def search(batches: Sequence[int], start: int | None, attempt: Callable[[int], str]) -> tuple[int | None, str]:
    """The largest batch that fits, walking up or down from `start`; None when not even the smallest does.

    A prediction that is right costs two attempts: it fits, and the next one does not. Whether a batch fits is taken to
    be monotonic.

    Args:
        batches: Ascending.
        start: Where to begin; None is the smallest.
        attempt: Tries a batch: `fits`, `oom`, or how else it ended.

    Returns:
        The largest batch that was seen to fit, and what ended the search: `boundary`, where memory was seen to run
        out; `LARGEST`, where it never did; or the outcome that said nothing about memory, such as `timeout`. Unless it
        is a boundary, larger batches may fit too.
    """
    index = batches.index(start) if start in batches else 0
    outcome = attempt(batches[index])
    if outcome == "fits":
        while index + 1 < len(batches):
            outcome = attempt(batches[index + 1])
            if outcome != "fits":
                return batches[index], "boundary" if outcome == "oom" else outcome
            index += 1
        return batches[index], LARGEST
    while outcome == "oom" and index > 0:
        index -= 1
        outcome = attempt(batches[index])
    fitting = batches[index] if outcome == "fits" else None
    return fitting, "boundary" if outcome in ("fits", "oom") else outcome


def _trial(policy: str, batch: int, report: Mapping[str, Any]) -> Trial:
    """One step of the search from what its process reported."""
    # A trial has too few steps for steady times, which do not matter here; and a run that diverged did fit.
    measured = report["status"] in MEASURED
    return {
        "policy": policy,
        "batch": batch,
        "outcome": "fits" if measured else report["status"],
        "message": None if measured else report["message"],
        "peak": report["peak"] if measured else None,
        "step_s": statistics.median(report["timing"]["step_s"]) if measured else None,
    }
