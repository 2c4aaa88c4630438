"""What predicted steps save, from what a trainer counted."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping

from gpu_bench.experiments.hybrid.schedule import COMPUTED, Phase


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
    computed, taken = sum(steps[phase] for phase in COMPUTED), _added(seconds.values())
    if not computed or not taken:
        return 1.0
    return (_added(seconds[phase] for phase in COMPUTED) - extra) / computed * sum(steps.values()) / taken


def _added(seconds: Iterable[float]) -> float:
    """The sum of seconds, rounded after every addition, as `sum` does until Python 3.11; from 3.12 on it rounds less.

    A record holds the quotient, and every Python that checks it must come to the same bits.
    """
    return functools.reduce(operator.add, seconds, 0.0)
