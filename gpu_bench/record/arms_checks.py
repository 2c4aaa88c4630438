"""What must hold of runs that are compared with each other, seed by seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpu_bench.digits import fingerprint
from gpu_bench.failures import verdict as failures
from gpu_bench.failures.case import FailureCase
from gpu_bench.failures.recipes import FAILURES, planned
from gpu_bench.hybrid import verdict as hybrid
from gpu_bench.hybrid.arms import ARMS
from gpu_bench.hybrid.case import HybridCase
from gpu_bench.machine import provenance


def arms_faults(case: FailureCase | HybridCase, record: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the runs of a measured record, and with what is said to follow from them."""
    arms = record["arms"]
    runs = arms["runs"]
    if arms["data"]["sha256"] != fingerprint():
        yield "arms.data is not the file of digits"
    settings = {name: run["settings"] for name, run in runs.items()}
    seeds = {name: run["seeds"] for name, run in runs.items()}
    if record["provenance"]["sources"] == provenance.source_hash() and settings != _planned(case):
        yield "arms.runs are not what these sources have as the runs of this case"
    wanted = [case.seed + repeat for repeat in range(case.repeats)]
    for name, run in runs.items():
        if [one["seed"] for one in run["seeds"]] != wanted:
            yield f"the seeds of run {name!r} are not {wanted}"
    if isinstance(case, FailureCase):
        yield from _failure_faults(case, record)
        derived = failures.concluded(arms["worse"], settings, seeds)
    else:
        yield from _hybrid_faults(runs)
        derived = hybrid.concluded(settings, seeds)
    for part, value in derived.items():
        if arms[part] != value:
            yield f"arms.{part} does not follow from what was measured"
    for index, repeat in enumerate(record["provenance"]["repeats"]):
        total = sum(run["seeds"][index]["cpu_s"] for run in runs.values())
        if total > provenance.lasted(repeat):
            yield f"{total:.1f} s of one thread do not fit into a repeat of {provenance.lasted(repeat):.0f} s"
    if record["status"] != "ok":
        yield f"status is {record['status']}, and nothing spoils these runs"


def _planned(case: FailureCase | HybridCase) -> dict[str, dict[str, Any]]:
    """The settings of the runs as these sources have them."""
    if isinstance(case, FailureCase):
        return {name: recipe.as_dict() for name, (recipe, _) in planned(case.failure, case.shortened).items()}
    return {name: arm.as_dict() for name, arm in ARMS.items()}


def _failure_faults(case: FailureCase, record: Mapping[str, Any]) -> Iterator[str]:
    current = record["provenance"]["sources"] == provenance.source_hash()
    if current and record["arms"]["worse"] != FAILURES[case.failure].worse:
        yield "arms.worse is not what these sources have for this failure"
    for name, run in record["arms"]["runs"].items():
        for one in run["seeds"]:
            points = -(-run["settings"]["steps"] // one["every"])
            if any(len(curve) != points for curve in one["curves"].values()):
                yield f"a curve of run {name!r} does not have {points} points"


def _hybrid_faults(runs: Mapping[str, Any]) -> Iterator[str]:
    for name, run in runs.items():
        for one in run["seeds"]:
            if one["told"]["computed"] > one["steps"]:
                yield f"run {name!r} computed more steps than it took"
            times = [point["cpu_s"] for point in one["curve"]]
            if times != sorted(times) or times[-1] > one["cpu_s"]:
                yield f"the processor times of run {name!r} do not rise to its whole"
