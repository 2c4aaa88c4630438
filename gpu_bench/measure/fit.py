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
from functools import partial
from pathlib import Path
from typing import Any

import torch

from gpu_bench.cases import card
from gpu_bench.cases.case import Case
from gpu_bench.cases.kinds import FitCase
from gpu_bench.cases.walk import following, walk
from gpu_bench.machine import provenance
from gpu_bench.predict.prediction import predicted_batch
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
    saved = (read_json(kept) if kept else None) or {"trials": [], "contexts": [], "started": provenance.utc_now()}
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
            write_json(kept, saved)
        return str(trials[-1]["outcome"])

    results = []
    for policy in case.policies:
        predicted = predicted_batch(case, policy, device.type)
        search(case.batches, predicted, partial(attempt, policy))
        results.append({"policy": policy, "predicted_batch": predicted})
    fit = {"context": max(contexts, default=None), "policies": results, "trials": trials}
    # The search began with its first process: its trials are those of all of them.
    return {"status": "ok", "message": None, "started": saved["started"], "fit": fit}


def _memory(device: torch.device) -> int | None:
    """Bytes of a GPU's own memory; None of a CPU."""
    return torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else None


def search(batches: Sequence[int], start: int | None, attempt: Callable[[int], str]) -> None:
    """Attempt the batches that the walk from `start` names, each of which comes to what `attempt` returns."""
    steps = walk(batches, start)
    batch: int | None = next(steps)
    while batch is not None:
        batch = following(steps, attempt(batch))


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
