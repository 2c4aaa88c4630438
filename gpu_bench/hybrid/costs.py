"""What predicted steps save, from what a trainer counted."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_bench.hybrid.schedule import COMPUTED, Phase


def backward_reduction(steps: Mapping[Phase, int]) -> float:
    """Share of all steps, by phase, that ran no backward."""
    total = sum(steps.values())
    return steps["predict"] / total if total else 0.0


def speedup(steps: Mapping[Phase, int], seconds: Mapping[Phase, float], extra: float) -> float:
    """Wall-clock speed-up: what all steps would have taken at the pace of the computed ones, over what they took.

    Prediction's own work in computed steps counts as time taken, not as their pace. 1 before the first step.

    Args:
        steps: By phase.
        seconds: By phase.
        extra: Of the seconds of computed steps, those that serve prediction alone.
    """
    computed, taken = sum(steps[phase] for phase in COMPUTED), sum(seconds.values())
    if not computed or not taken:
        return 1.0
    return (sum(seconds[phase] for phase in COMPUTED) - extra) / computed * sum(steps.values()) / taken
