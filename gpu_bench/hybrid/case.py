"""The case of the evaluation: plain training, its controls and every predictor, on one set of data."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_bench.cases.case import Case
from gpu_bench.hybrid.arms import ARMS


@dataclass(frozen=True, kw_only=True)
class HybridCase(Case):
    """All runs of `arms.ARMS` on the digits. Each repeat trains all of them from one seed of its own.

    Attributes:
        steps: Of plain training, predicted ones of the others included.
        batch: Images of a step.
        channels: Of the first of two convolutions; the second has twice as many.
    """

    kind: str = "hybrid"
    steps: int
    batch: int = 64
    channels: int = 8

    @property
    def extent(self) -> str:
        """How many trainings of each seed."""
        return f"{len(ARMS)} trainings of each seed"


HYBRID_SUITE = (
    HybridCase(
        name="hybrid-digits-ci",
        value=45,
        reason="whether predicted steps save time that skipping them would not save, in the size of a test",
        steps=300,
        repeats=5,
        channels=4,
        time_limit_s=1800.0,
    ),
    HybridCase(
        name="hybrid-digits",
        value=44,
        reason="the same until training has converged",
        steps=600,
        repeats=5,
        channels=12,
        time_limit_s=3600.0,
    ),
)
