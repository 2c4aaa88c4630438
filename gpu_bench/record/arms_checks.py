"""What must hold of runs that are compared with each other, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpu_bench.experiments.digits import CLASSES, MNIST_FINGERPRINT, fingerprint
from gpu_bench.experiments.failures.case import FailureCase
from gpu_bench.experiments.hybrid.case import HybridCase
from gpu_bench.experiments.hybrid.verdict import PLAIN
from gpu_bench.machine import provenance
from gpu_bench.record.hybrid_checks import hybrid_faults
from gpu_bench.record.repeated import copied

_LAST, _EASIER = 10, 0.5
"""Points at a curve's end, and the share of their lowest loss below which that of a test drawn alike does not come."""
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
    yield from _failure_faults(arms) if isinstance(case, FailureCase) else hybrid_faults(case, arms)
    for index, repeat in enumerate(record["provenance"]["repeats"]):
        name = "cpu_s" if isinstance(case, FailureCase) else "seconds"
        total, most = sum(run["seeds"][index][name] for run in runs.values()), provenance.lasted(repeat)
        if not _LEAST_SHARE * most < total <= most:
            yield f"{total:.1f} s of training are not what fills a repeat of {most:.0f} s"


def _losses(one: Mapping[str, Any]) -> list[float | None]:
    """The curve of one training's losses."""
    return list(one["curves"]["loss"]) if "curves" in one else [point["loss"] for point in one["curve"]]


def _test_faults(test: Mapping[str, Any], curve: Sequence[float | None]) -> Iterator[str]:
    """What is told right and wrong has its probabilities, and what is tested is no easier than what is learned.

    What is told wrong has a probability of half at most, and what is told right one of a class's share at least.
    """
    loss, right = test["loss"], test.get("accuracy")
    most = math.log(CLASSES)
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


def _end_faults(test: Mapping[str, Any], curve: Sequence[float | None]) -> Iterator[str]:
    """Whether a failure's test is of the model that its last steps left, on which every point is a computed step."""
    last, loss = curve[-_LAST:], test["loss"]
    finite = [one for one in last if one is not None]
    if loss is None or len(last) < _LAST:
        return
    if not finite:
        yield f"its loss is {loss:.3g} on what it has not seen, and of the last {_LAST} points none is finite"
    elif loss < _EASIER * min(finite):
        yield f"its loss is {loss:.3g} on what it has not seen, and the last {_LAST} points are above {min(finite):.3g}"


def _failure_faults(arms: Mapping[str, Any]) -> Iterator[str]:
    for name, run in arms["runs"].items():
        for one in run["seeds"]:
            points = -(-run["settings"]["steps"] // one["every"])
            if any(len(curve) != points for curve in one["curves"].values()):
                yield f"a curve of run {name!r} does not have {points} points"
            for fault in _end_faults(one["test"], one["curves"]["loss"]):
                yield f"run {name!r}, seed {one['seed']}: {fault}"
