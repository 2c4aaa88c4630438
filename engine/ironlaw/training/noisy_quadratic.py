"""The noisy quadratic model of training: a loss that can be computed in a moment, and that explodes as training does.

The loss is a bowl with curvatures 1, 1/2, 1/3, …; each step follows the bowl's gradient plus noise that shrinks with
the batch. Divergence by a large rate, the price of a large batch and the kick of an outlier all follow from it. It says
nothing of a certain network's loss. Source: Zhang et al. 2019, "Which Algorithmic Choices Matter at Which Batch
Sizes?", arXiv 1907.04164, section 3. The outlier, number formats and clipping are additions of this engine.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import lru_cache

from ironlaw.core.arrays import require_each
from ironlaw.core.errors import EngineError
from ironlaw.core.units import Count, Ratio
from ironlaw.numerics.formats import FP16, FP32

DIRECTIONS = 8
"""Curvatures 1, 1/2, … 1/8."""
SCALINGS = ("none", "static", "dynamic")
STATIC_SCALE = 2.0**16
"""The scale that PyTorch's GradScaler begins with; a static one stays there."""
GRADIENT_UNIT = 2.0**-23
"""Size of a gradient element of the network where the model's is 1: what FP16 has to hold. An assumption.

It is twice FP16's smallest number: most gradients of the detector in figure 3 of Micikevicius et al. 2017, "Mixed
Precision Training", arXiv 1710.03740, lie below that.
"""
LOST = 1e3
"""A loss beyond this counts as an explosion; the run ends there."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What stands between a gradient and the weights.

    Attributes:
        half_precision: Gradients are FP16: those beyond 65,504 become infinite, the smallest become zero.
        scaling: Of the loss, for FP16: `"none"`, `"static"` or `"dynamic"`.
        clip: Largest norm of a gradient that is applied, or None.
    """

    half_precision: bool = False
    scaling: str = "none"
    clip: float | None = None

    def __post_init__(self) -> None:
        if self.scaling not in SCALINGS:
            raise EngineError("scaling", self.scaling, tuple(SCALINGS))


@dataclass(frozen=True, slots=True)
class Outlier:
    """One strange batch: what its gradient is multiplied by, and when it comes, as a share of the steps."""

    factor: Ratio
    at: Ratio = 0.6


@dataclass(frozen=True, slots=True)
class Course:
    """One run of the model.

    Attributes:
        losses: After each update, from 1 at the start; infinite from the step at which it exploded.
        exploded_at: That step, or None.
        skipped: Updates that dynamic loss scaling left out.
        reason: `"overflow"`, `"rate"` or `"outlier"`, or empty.
        clipped: Updates that clipping shortened.
    """

    losses: tuple[float, ...]
    exploded_at: Count | None
    skipped: Count
    reason: str
    clipped: Count

    @property
    def final(self) -> float:
        """The last loss."""
        return self.losses[-1]


@lru_cache(maxsize=8192)
def course(
    steps: Count,
    batch: Count,
    rate: Ratio,
    *,
    noise: Ratio = 1.0,
    guard: Guard = Guard(),
    outliers: tuple[Outlier, ...] = (),
    seed: int = 3,
) -> Course:
    """Train the model.

    Args:
        steps: Updates.
        batch: Samples of an update: the noise's variance is `noise**2 / batch`.
        rate: Learning rate; above 2 the steepest direction diverges by itself.
        noise: Standard deviation of one sample's gradient, in every direction.
        guard: Number format, loss scaling and clipping of the gradients.
        outliers: Strange batches, at different times.
        seed: Of the noise.

    Raises:
        EngineError: A count below 1.
    """
    require_each(1, {"steps": steps, "batch": batch})
    weights = [1.0] * DIRECTIONS
    curvatures = [1.0 / (index + 1) for index in range(DIRECTIONS)]
    whole = sum(curvatures) / 2
    scale = 1.0 if guard.scaling == "none" or not guard.half_precision else STATIC_SCALE
    losses: list[float] = []
    skipped, clipped, kicked = 0, 0, False
    strange = {int(one.at * steps): one.factor for one in outliers}
    form = FP16 if guard.half_precision else FP32
    smallest, largest = form.smallest_subnormal / 2, form.maximum
    spread = noise / math.sqrt(batch)
    for step, noises in zip(range(steps), _noise(seed, steps), strict=False):
        factor = strange.get(step, 1.0)
        gradient = [factor * (h * w + spread * n) for h, w, n in zip(curvatures, weights, noises, strict=True)]
        # A loss below `LOST` has no gradient that FP32 cannot hold, unless the batch is strange.
        if guard.half_precision or factor != 1:
            stored = [abs(g) * GRADIENT_UNIT * scale for g in gradient]
            if max(stored) > largest:
                if guard.scaling != "dynamic":
                    return _exploded(losses, steps, (step, skipped, clipped), "overflow")
                scale, skipped = scale / 2, skipped + 1
                losses.append(losses[-1] if losses else 1.0)
                continue
            gradient = [0.0 if size < smallest else g for g, size in zip(gradient, stored, strict=True)]
        if guard.clip is not None and (norm := math.hypot(*gradient)) > guard.clip:
            gradient, clipped = [g * guard.clip / norm for g in gradient], clipped + 1
        elif factor != 1:
            kicked = True
        weights = [w - rate * g for w, g in zip(weights, gradient, strict=True)]
        loss = sum(h * w * w for h, w in zip(curvatures, weights, strict=True)) / 2 / whole
        if loss > LOST:
            return _exploded(losses, steps, (step, skipped, clipped), "outlier" if kicked else "rate")
        losses.append(loss)
    return Course(tuple(losses), None, skipped, "", clipped)


@lru_cache(maxsize=64)
def _stream(seed: int) -> tuple[random.Random, list[tuple[float, ...]]]:
    """A seed's source of noise, and what was drawn from it."""
    return random.Random(seed), []


def _noise(seed: int, steps: Count) -> list[tuple[float, ...]]:
    """For at least so many steps, a normal number for every direction. Runs with one seed share them."""
    draw, rows = _stream(seed)
    while len(rows) < steps:
        rows.append(tuple(draw.gauss(0, 1) for _ in range(DIRECTIONS)))
    return rows


def _exploded(losses: list[float], steps: Count, counts: tuple[Count, Count, Count], reason: str) -> Course:
    step, skipped, clipped = counts
    return Course((*losses, *[math.inf] * (steps - len(losses))), step, skipped, reason, clipped)
