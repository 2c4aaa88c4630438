"""The case of one failure, which a CPU trains in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpu_bench.cases.case import Case
from gpu_bench.experiments.failures.recipes import FAILURES, Recipe, planned
from gpu_bench.record.rules import Count, Words


@dataclass(frozen=True, kw_only=True)
class FailureCase(Case):
    """A failure beside its reference and its repairs. Each repeat trains all of them from one seed of its own."""

    kind: Literal["failure"] = "failure"
    failure: Words  # A name from `recipes.FAILURES`
    shortened: Count = 1  # By what the steps of its runs are divided; 1 is the whole length

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.failure not in FAILURES:
            raise ValueError(f"failure is {self.failure!r}; allowed: {', '.join(FAILURES)}")

    @property
    def arms(self) -> dict[str, Recipe]:
        """The runs that are trained, by name."""
        return {name: recipe for name, (recipe, _) in planned(self.failure, self.shortened).items()}

    @property
    def worse(self) -> float:
        """How many times the reference's loss makes a failure, see `recipes.Failure`."""
        return FAILURES[self.failure].worse

    @property
    def extent(self) -> str:
        """How many trainings, and of how many seeds."""
        return f"{len(FAILURES[self.failure].recipes)} trainings of each seed"


def _case(failure: str, value: int, reason: str, repeats: int = 5) -> FailureCase:
    return FailureCase(
        name=f"failure-{failure}", failure=failure, value=value, reason=reason, repeats=repeats, time_limit_s=1800.0
    )


FAILURE_SUITE: tuple[FailureCase, ...] = (
    _case("outlier", 70, "one faulty batch ends an FP16 run for good, and clipping does not help"),
    _case("clipping", 68, "the same faulty batch where nothing overflows, and what clipping is for"),
    _case("large-batch", 66, "eight times the batch at the same rate learns too little; eight times the rate mends it"),
    _case("underflow", 64, "why a loss is scaled, shown by what happens without, and with too large a scale", 3),
    _case("linear-scaling", 50, "where eight times the rate breaks training, and what warm-up and clipping mend", 3),
    _case("updates", 48, "why mixed precision keeps an FP32 copy of the weights", 3),
)
