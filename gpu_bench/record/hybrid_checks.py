"""What must hold of trainings that predict some of their steps: steps, bytes, times and curves of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from gpu_bench.experiments.hybrid.arms import REMEMBERED, Arm, phases
from gpu_bench.experiments.hybrid.case import HybridCase
from gpu_bench.experiments.hybrid.schedule import COMPUTED
from gpu_bench.experiments.hybrid.verdict import PLAIN, point_steps

_FASTEST_STEP_S, _ROUNDED_S = 1e-6, 5e-5
"""No step copies and compares the tensors of a model in a microsecond; seconds are rounded to four places."""
_COUNTERS = 2**12
"""Bytes of the steps that Adam counts, one number for each tensor of a model."""


def hybrid_faults(case: HybridCase, arms: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the runs of a measured record."""
    plain = arms["runs"][PLAIN]["seeds"]
    for name, run in arms["runs"].items():
        arm = Arm(**run["settings"])
        for one, beside in zip(run["seeds"], plain, strict=True):
            starts = beside["curve"] if arms["clock"] == "processor" else beside["curve"][:1]
            faults = _step_faults(arm, case, one), _size_faults(arm, case, one), _curve_faults(arm, case, one, starts)
            for fault in chain.from_iterable(faults):
                yield f"run {name!r}, seed {one['seed']}: {fault}"


def _step_faults(arm: Arm, case: HybridCase, one: Mapping[str, Any]) -> Iterator[str]:
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
    yield from _likeness_faults(arm, told["horizons"])
    if arm.predictor == "none":
        return
    if arm.predictor == "no-op" and not told["divergences"]:
        planned = phases(arm.schedule(case.steps), arm.taken(case.steps))
        if told["phases"] != planned:
            yield f"its phases are {told['phases']}; a schedule without confidence and divergence has {planned}"
    spent = sum(told["phase_seconds"][phase] for phase in COMPUTED)
    if not _FASTEST_STEP_S * told["computed"] <= told["extra_seconds"] + _ROUNDED_S <= spent + 2 * _ROUNDED_S:
        yield f"{told['extra_seconds']} s of {spent:.4g} s served prediction alone in {told['computed']} computed steps"


def _likeness_faults(arm: Arm, horizons: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What no means of cosines and relative errors can be: at an angle an error is at least so large."""
    for each in horizons:
        cosine, error = each["cosine"], each["error"]
        if cosine is None or error is None:
            continue
        told = f"{each['ahead']} steps ahead its cosine is {cosine} and its error {error}"
        if arm.predictor == "no-op" and (cosine, error) != (0, 1):
            yield f"{told}; a prediction of zero has 0 and 1"
        # A single prediction's error is at least the sine of its angle, and 1 beyond a right angle; a mean of many can
        # be as low as the line from no error at cosine 1 to an error of 1 at cosine -1.
        elif error < 0.999 * (1 - cosine) / 2:
            yield f"{told}; an error of at least {(1 - cosine) / 2:.3g} is possible"


def _size_faults(arm: Arm, case: HybridCase, one: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with bytes that follow from the model: snapshot, updates, and what a peak holds at least."""
    told, weights, most = one["told"], case.weight_bytes, REMEMBERED[arm.predictor]
    states = {"adam": 2, "sgd": 1}[arm.optimizer] * weights
    snapshot = weights + (0 if arm.optimizer_state == "drop" else states)
    remembered = min(most, told["computed"] - told["divergences"])
    if not remembered * weights <= told["history_bytes"] <= most * weights:
        yield f"its updates take {told['history_bytes']} B; {most} of {weights} B are remembered"
    # One that is taken after the last step serves no prediction.
    if not (
        0 <= told["snapshot_bytes"] - snapshot <= _COUNTERS or told["snapshot_bytes"] == told["phases"]["predict"] == 0
    ):
        yield f"its snapshot takes {told['snapshot_bytes']} B; weights and the optimizer's state are {snapshot} B"
    peak, memory, computing = one["memory_peak"], one.get("memory"), 2 * weights + states
    if peak is not None and peak < computing:
        yield f"its peak is {peak} B; weights, gradients and the optimizer's state are {computing} B"
    if memory is not None:
        here = {"keep": states + snapshot, "offload": 0, "drop": snapshot}[arm.optimizer_state]
        predicting = None if arm.predictor == "none" else here + (1 + most) * weights
        away = states + snapshot if arm.optimizer_state == "offload" else 0
        yield from _peak_faults(memory, computing, predicting, away)


def _peak_faults(memory: Mapping[str, Any], computing: int, predicting: int | None, away: int) -> Iterator[str]:
    """Peaks below the bytes that there are when computing and when predicting, or other bytes in host memory."""
    computed, predicted, elsewhere = memory["computed"], memory["predicted"], memory["elsewhere"]
    if computed < computing:
        yield f"memory.computed is {computed} B; weights, gradients and the optimizer's state are {computing} B"
    if (predicted is None) != (predicting is None) or (predicted or 0) < (predicting or 0):
        yield f"memory.predicted is {predicted} B; what stays while steps are predicted is {predicting} B"
    if not away <= elsewhere <= away + (2 * _COUNTERS if away else 0):
        yield f"memory.elsewhere is {elsewhere} B; snapshot and optimizer's state are put there, {away} B"


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
