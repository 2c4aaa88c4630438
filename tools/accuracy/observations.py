"""What the calibration may see of the report: for each published time or memory, its source, features and ratio."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ironlaw.answers.estimate import features
from ironlaw.calibration import Features
from tools.accuracy.predict import Comparison
from tools.accuracy.rows import Row
from tools.accuracy.setups import row_setup

KIND_OF_GROUP = {"time": "time", "memory": "allocated", "device memory": "device memory"}
"""Groups of the report that are calibrated, and what the calibration calls each."""


@dataclass(frozen=True)
class Observation:
    """One published value beside the physics' prediction of it."""

    kind: str
    source: str
    features: Features
    comparison: Comparison

    @property
    def log_ratio(self) -> float:
        """ln(published / physics): 0.1 where a run takes a tenth more than physics says."""
        return math.log(self.comparison.published / self.comparison.predicted)


def observations(comparisons: Iterable[Comparison]) -> tuple[Observation, ...]:
    """The comparisons that may be learned from: times and memory, without rows that are never fitted."""
    return tuple(
        Observation(KIND_OF_GROUP[c.group], publisher(c.row), features_of(c.row), c)
        for c in comparisons
        if c.group in KIND_OF_GROUP and not never_fitted(c.row)
    )


def never_fitted(row: Row) -> bool:
    """Whether the row is kept out of every fit, so that its prediction stays independent of its result."""
    return row.never_fitted


def publisher(row: Row) -> str:
    """Who published the row: as its source says, else what stands before the first comma of the source's title.

    Two tables of one paper, or two runs of one program, share what makes their errors alike, so they count as one.
    """
    return row.source.publisher or row.source.title.partition(",")[0].strip()


def features_of(row: Row) -> Features:
    """The features of a published run."""
    return features(row_setup(row))
