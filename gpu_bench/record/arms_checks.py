"""What must hold of runs that are compared with each other, seed by seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpu_bench.digits import fingerprint
from gpu_bench.failures.case import FailureCase
from gpu_bench.failures.recipes import FAILURES, planned
from gpu_bench.failures.verdict import concluded
from gpu_bench.machine import provenance


def arms_faults(case: FailureCase, record: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the runs of a measured record, and with what is said to follow from them."""
    arms = record["arms"]
    runs = arms["runs"]
    if arms["data"]["sha256"] != fingerprint():
        yield "arms.data is not the file of digits"
    settings = {name: run["settings"] for name, run in runs.items()}
    seeds = {name: run["seeds"] for name, run in runs.items()}
    plan = {name: recipe.as_dict() for name, (recipe, _) in planned(case.failure, case.shortened).items()}
    current = record["provenance"]["sources"] == provenance.source_hash()
    if current and (settings != plan or arms["worse"] != FAILURES[case.failure].worse):
        yield "arms.runs are not what these sources have as the runs of this failure"
    wanted = [case.seed + repeat for repeat in range(case.repeats)]
    for name, run in runs.items():
        if [one["seed"] for one in run["seeds"]] != wanted:
            yield f"the seeds of run {name!r} are not {wanted}"
        for one in run["seeds"]:
            points = -(-run["settings"]["steps"] // one["every"])
            if any(len(curve) != points for curve in one["curves"].values()):
                yield f"a curve of run {name!r} does not have {points} points"
    derived = concluded(arms["worse"], settings, seeds)
    for part, value in derived.items():
        if arms[part] != value:
            yield f"arms.{part} does not follow from what was measured"
    for index, repeat in enumerate(record["provenance"]["repeats"]):
        total = sum(run["seeds"][index]["cpu_s"] for run in runs.values())
        if total > provenance.lasted(repeat):
            yield f"{total:.1f} s of one thread do not fit into a repeat of {provenance.lasted(repeat):.0f} s"
    if record["status"] != "ok":
        yield f"status is {record['status']}, and nothing spoils these runs"
