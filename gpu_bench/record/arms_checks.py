"""What must hold of runs that are compared with each other, seed by seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpu_bench.digits import MNIST_FINGERPRINT, fingerprint
from gpu_bench.failures import verdict as failures
from gpu_bench.failures.case import FailureCase
from gpu_bench.failures.recipes import FAILURES, planned
from gpu_bench.hybrid import verdict as hybrid
from gpu_bench.hybrid.arms import Arm
from gpu_bench.hybrid.case import HybridCase
from gpu_bench.hybrid.verdict import point_steps
from gpu_bench.machine import provenance


def arms_faults(case: FailureCase | HybridCase, record: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the runs of a measured record, and with what is said to follow from them."""
    arms = record["arms"]
    runs = arms["runs"]
    task = "digits" if isinstance(case, FailureCase) else case.task
    if task != "text" and arms["data"]["sha256"] != (MNIST_FINGERPRINT if task == "mnist" else fingerprint()):
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
        yield from _hybrid_faults(case, arms)
        derived = hybrid.concluded(arms["quality"], settings, seeds)
    for part, value in derived.items():
        if arms[part] != value:
            yield f"arms.{part} does not follow from what was measured"
    for index, repeat in enumerate(record["provenance"]["repeats"]):
        name = "cpu_s" if isinstance(case, FailureCase) else "seconds"
        total = sum(run["seeds"][index][name] for run in runs.values())
        if total > provenance.lasted(repeat):
            yield f"{total:.1f} s of training do not fit into a repeat of {provenance.lasted(repeat):.0f} s"
    if record["status"] != "ok":
        yield f"status is {record['status']}, and nothing spoils these runs"


def _planned(case: FailureCase | HybridCase) -> dict[str, dict[str, Any]]:
    """The settings of the runs as these sources have them."""
    if isinstance(case, FailureCase):
        return {name: recipe.as_dict() for name, (recipe, _) in planned(case.failure, case.shortened).items()}
    return {name: arm.as_dict() for name, arm in case.arms.items()}


def _failure_faults(case: FailureCase, record: Mapping[str, Any]) -> Iterator[str]:
    current = record["provenance"]["sources"] == provenance.source_hash()
    if current and record["arms"]["worse"] != FAILURES[case.failure].worse:
        yield "arms.worse is not what these sources have for this failure"
    for name, run in record["arms"]["runs"].items():
        for one in run["seeds"]:
            points = -(-run["settings"]["steps"] // one["every"])
            if any(len(curve) != points for curve in one["curves"].values()):
                yield f"a curve of run {name!r} does not have {points} points"


def _hybrid_faults(case: HybridCase, arms: Mapping[str, Any]) -> Iterator[str]:
    if arms["quality"] != ("perplexity" if case.task == "text" else "loss"):
        yield f"arms.quality is {arms['quality']!r}, and the task is {case.task}"
    plain = arms["runs"]["plain"]["seeds"]
    for name, run in arms["runs"].items():
        arm = Arm(**run["settings"])
        for one, beside in zip(run["seeds"], plain, strict=True):
            starts = beside["curve"] if arms["clock"] == "processor" else beside["curve"][:1]
            for fault in (*_step_faults(arm, case, one), *_curve_faults(arm, case, one, starts)):
                yield f"run {name!r}, seed {one['seed']}: {fault}"


def _step_faults(arm: Arm, case: HybridCase, one: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the steps that one training counted."""
    told, steps = one["told"], one["steps"]
    if steps != arm.taken(case.steps):
        yield f"it took {steps} steps, its settings say {arm.taken(case.steps)}"
    if sum(told["phases"].values()) != steps:
        yield f"its phases do not sum to {steps} steps"
    if arm.predictor == "none" and told["phases"]["warmup"] != steps:
        yield "it never predicts, and has other phases than warm-up"
    if sum(each["compared"] for each in told["horizons"]) > steps - told["phases"]["predict"]:
        yield "more predictions were compared than steps computed"
    if told["divergences"] > told["phases"]["predict"]:
        yield "it diverged more often than it predicted"


def _curve_faults(
    arm: Arm, case: HybridCase, one: Mapping[str, Any], plain: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """What is wrong with the curve of one training, whose time must rise and whose start is that of plain training."""
    curve = one["curve"]
    if [point["step"] for point in curve] != list(point_steps(one["steps"])):
        yield "the points of its curve are not at the steps where points are"
    times = [point["seconds"] for point in curve]
    if times != sorted(times) or times[-1] > one["seconds"]:
        yield "the times of its curve do not rise to its whole"
    for phase, steps in one["told"]["phases"].items():
        if sum(point["phase"] == phase for point in curve) > steps:
            yield f"its curve has more points of phase {phase!r} than it has steps"
    if any((point["loss"] is not None) and point["phase"] == "predict" and not arm.forward for point in curve):
        yield "its curve has a loss where a predicted step computed none"
    # Equal seeds start from equal weights, and see equal batches in equal order, until the first step is predicted.
    # On a GPU, which sums in any order, only the first losses are equal.
    if arm.larger > 1 or arm.mixed or arm.parts > 1:
        return
    alike = arm.optimizer == "adam" and arm.rate == 1
    until = one["steps"] if arm.predictor == "none" else arm.schedule(case.steps).warmup_steps
    losses = {point["step"]: point["loss"] for point in plain}
    for point in curve:
        same = point["step"] == 0 or (alike and point["step"] < until)
        if same and point["loss"] != losses.get(point["step"], point["loss"]):
            yield f"its loss at step {point['step']} is not that of plain training, from which it does not differ yet"
