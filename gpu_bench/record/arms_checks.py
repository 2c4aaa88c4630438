"""What must hold of runs that are compared with each other, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpu_bench.experiments.digits import MNIST_FINGERPRINT, fingerprint
from gpu_bench.experiments.failures.case import FailureCase
from gpu_bench.experiments.hybrid.arms import Arm
from gpu_bench.experiments.hybrid.case import HybridCase
from gpu_bench.experiments.hybrid.verdict import PLAIN, point_steps
from gpu_bench.machine import provenance
from gpu_bench.record.repeated import copied

_LEAST_SHARE = 0.005
"""Share of a repeat's time that its trainings take at least: the rest is starting, loading, testing."""


def missing_parts(case: FailureCase | HybridCase, arms: Mapping[str, Any]) -> Iterator[str]:
    """What must be there before runs can be held against each other: what the description of one run cannot say."""
    runs = arms["runs"]
    for name, run in runs.items():
        if len(run["seeds"]) != case.repeats:
            yield f"at /arms/runs/{name}/seeds: there are {len(run['seeds'])} repeats, the case has {case.repeats}"
    if isinstance(case, FailureCase):
        yield from _missing_of_failure(arms)
    elif PLAIN not in runs:
        yield f"at /arms/runs: {PLAIN!r} is a required property, the run that the others are held against"
    else:
        yield from _missing_of_hybrid(runs)


def _missing_of_failure(arms: Mapping[str, Any]) -> Iterator[str]:
    if "worse" not in arms:
        yield "at /arms: 'worse' is a required property"
        return
    runs = arms["runs"]
    if not any(run["settings"]["role"] == "reference" for run in runs.values()):
        yield "at /arms/runs: the reference is missing, the run that the others are held against"
    for name, run in runs.items():
        if "steps" not in run["settings"]:
            yield f"at /arms/runs/{name}/settings: 'steps' is a required property"
        for index, one in enumerate(run["seeds"]):
            if "loss" not in one["curves"]:
                yield f"at /arms/runs/{name}/seeds/{index}/curves: 'loss' is a required property"


def _missing_of_hybrid(runs: Mapping[str, Any]) -> Iterator[str]:
    """What every training has if it predicts: the share told right, and peaks if that of plain training has them."""
    with_memory = runs[PLAIN]["seeds"][0].get("memory") is not None
    for name, run in runs.items():
        for index, one in enumerate(run["seeds"]):
            place = f"at /arms/runs/{name}/seeds/{index}"
            if one["test"].get("accuracy") is None:
                yield f"{place}/test: 'accuracy' is a required property"
            if (one.get("memory") is not None) != with_memory:
                yield f"{place}: 'memory' is a property of all trainings or of none"


def arms_faults(case: FailureCase | HybridCase, record: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the runs of a measured record."""
    arms = record["arms"]
    runs = arms["runs"]
    task = "digits" if isinstance(case, FailureCase) else case.task
    if task != "text" and arms["data"]["sha256"] != (MNIST_FINGERPRINT if task == "mnist" else fingerprint()):
        yield "arms.data is not the file of digits"
    for name, run in runs.items():
        curves = [_losses(one) for one in run["seeds"]]
        for told in copied([[point for point in curve if point is not None] for curve in curves], "losses"):
            yield f"run {name!r}: {told}"
        if any({**one, "seed": 0} == {**run["seeds"][0], "seed": 0} for one in run["seeds"][1:]):
            yield f"run {name!r}: two seeds measured exactly the same"
        for one, curve in zip(run["seeds"], curves, strict=True):
            yield from (f"run {name!r}, seed {one['seed']}: {fault}" for fault in _test_faults(one["test"], curve))
    yield from _failure_faults(arms) if isinstance(case, FailureCase) else _hybrid_faults(case, arms)
    for index, repeat in enumerate(record["provenance"]["repeats"]):
        name = "cpu_s" if isinstance(case, FailureCase) else "seconds"
        total, most = sum(run["seeds"][index][name] for run in runs.values()), provenance.lasted(repeat)
        if not _LEAST_SHARE * most < total <= most:
            yield f"{total:.1f} s of training are not what fills a repeat of {most:.0f} s"


_CLASSES = 10
"""Digits that are told apart where accuracy is tested (`gpu_bench.experiments.digits`)."""


def _losses(one: Mapping[str, Any]) -> list[float | None]:
    """The curve of one training's losses."""
    return list(one["curves"]["loss"]) if "curves" in one else [point["loss"] for point in one["curve"]]


def _test_faults(test: Mapping[str, Any], curve: Sequence[float | None]) -> Iterator[str]:
    """What is told right and wrong has its probabilities, and what is tested is no easier than what is learned.

    What is told wrong has a probability of half at most, and what is told right one of a class's share at least.
    """
    loss, right = test["loss"], test.get("accuracy")
    most = math.log(_CLASSES)
    if right == 1 and (loss is None or loss > most * 1.001):
        told = "not finite" if loss is None else f"{loss:.3g}"
        yield f"its loss is {told} where all are told right; at most {most:.3g} is possible"
    if loss is None:
        return
    if right is not None and loss < (least := (1 - right) * math.log(2)) * 0.999:
        yield f"its loss is {loss:.3g} where {right:.1%} are told right; at least {least:.3g} is possible"
    lowest = min((one for one in curve if one is not None), default=loss)
    if loss < 0.2 * lowest:
        yield f"its loss is {loss:.3g} on what it has not seen, and never below {lowest:.3g} on what it has"


def _failure_faults(arms: Mapping[str, Any]) -> Iterator[str]:
    for name, run in arms["runs"].items():
        for one in run["seeds"]:
            points = -(-run["settings"]["steps"] // one["every"])
            if any(len(curve) != points for curve in one["curves"].values()):
                yield f"a curve of run {name!r} does not have {points} points"


def _hybrid_faults(case: HybridCase, arms: Mapping[str, Any]) -> Iterator[str]:
    plain = arms["runs"][PLAIN]["seeds"]
    for name, run in arms["runs"].items():
        arm = Arm(**run["settings"])
        for one, beside in zip(run["seeds"], plain, strict=True):
            starts = beside["curve"] if arms["clock"] == "processor" else beside["curve"][:1]
            for fault in (*_step_faults(arm, one), *_curve_faults(arm, case, one, starts)):
                yield f"run {name!r}, seed {one['seed']}: {fault}"


def _step_faults(arm: Arm, one: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the steps that one training counted."""
    told, steps = one["told"], one["steps"]
    if sum(told["phases"].values()) != steps:
        yield f"its phases do not sum to {steps} steps"
    if arm.predictor == "none" and told["phases"]["warmup"] != steps:
        yield "it never predicts, and has other phases than warm-up"
    if sum(each["compared"] for each in told["horizons"]) > steps - told["phases"]["predict"]:
        yield "more predictions were compared than steps computed"
    # Processor time on one thread, and the clock of a GPU, pass no faster than the clock on the wall.
    if one["seconds"] > 1.05 * sum(told["phase_seconds"].values()) + 1:
        yield f"it took {one['seconds']:.1f} s, its phases {sum(told['phase_seconds'].values()):.1f} s on the clock"
    if told["divergences"] > told["phases"]["predict"]:
        yield "it diverged more often than it predicted"


def _curve_faults(
    arm: Arm, case: HybridCase, one: Mapping[str, Any], plain: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """What is wrong with the curve of one training, whose time must rise and whose start is that of plain training."""
    curve = one["curve"]
    if len(curve) != (points := len(point_steps(one["steps"]))):
        yield f"its curve has {len(curve)} points, {one['steps']} steps have {points}"
    times = [point["seconds"] for point in curve]
    if times != sorted(times) or times[-1] > one["seconds"] or len({*times}) < len(times) / 2:
        yield "the times of its curve do not rise to its whole"
    share = (curve[-1]["step"] + 1) / one["steps"]
    if share * one["seconds"] > 2 * times[-1] + 1:
        yield f"its last point is at {times[-1]:.1f} s, its end at {one['seconds']:.1f} s"
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
