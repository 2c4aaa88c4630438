"""Middle and spread of samples, as they stand in every record, whether they are steady, and whether two sets differ."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


def summarize(values: Sequence[float]) -> dict[str, float | int]:
    """Median, quartiles, their distance and the number of samples; quartiles by linear interpolation."""
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return {"median": median, "q1": q1, "q3": q3, "iqr": q3 - q1, "n": len(values)}


LAST = 5
STEADY = {"cuda": 0.01, "cpu": 0.05}
"""Warm-up ends when the last five steps vary less than this (coefficient of variation) ..."""
LONGEST_WARMUP = 4
"""... or after this many times the case's warm-up, in steps and in seconds."""
NARROW = 0.005
"""Timing may end early once the 95 % interval of the median step lies within this share of it on either side."""


def variation(seconds: Sequence[float]) -> float:
    """Coefficient of variation."""
    return statistics.stdev(seconds) / statistics.fmean(seconds)


def narrow(seconds: Sequence[float]) -> bool:
    """Whether the 95 % interval of the median lies within `NARROW` of it, by the order statistics around the middle."""
    count = len(seconds)
    half = math.ceil(0.98 * math.sqrt(count))
    if count < 100:
        # Below this, one slow second of the machine can hide between the statistics.
        return False
    ordered, middle = sorted(seconds), count // 2
    median = ordered[middle]
    return ordered[middle + half] - median <= NARROW * median and median - ordered[middle - half] <= NARROW * median


_RESAMPLES = 1000
_MOST_SAMPLES = 101
"""Samples of a repeat that are drawn from: more are thinned to this many evenly spaced quantiles."""


@dataclass(frozen=True)
class Ratio:
    """How many times as large one median is as another, with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def differs(self) -> bool:
        """Whether 1 lies outside the interval: otherwise no difference was shown."""
        return not self.low <= 1 <= self.high


def ratio(over: Sequence[Sequence[float]], under: Sequence[Sequence[float]]) -> Ratio:
    """The ratio of the medians of two sets of repeats, a list of samples for each, with a bootstrap interval.

    Repeats are drawn first, then samples within them (Davison and Hinkley 1997, section 3.8): samples of one process
    resemble each other more than those of two. The same data give the same interval.
    """
    draw, sets = random.Random(0), [[_thinned(row) for row in rows] for rows in (over, under)]
    found = sorted(
        statistics.median(_resampled(draw, sets[0])) / statistics.median(_resampled(draw, sets[1]))
        for _ in range(_RESAMPLES)
    )
    middle = [statistics.median(value for row in rows for value in row) for rows in (over, under)]
    tail = _RESAMPLES // 40
    return Ratio(middle[0] / middle[1], found[tail], found[-1 - tail])


def _thinned(row: Sequence[float]) -> list[float]:
    ordered = sorted(row)
    if len(ordered) <= _MOST_SAMPLES:
        return ordered
    return [ordered[index * (len(ordered) - 1) // (_MOST_SAMPLES - 1)] for index in range(_MOST_SAMPLES)]


def _resampled(draw: random.Random, rows: Sequence[Sequence[float]]) -> list[float]:
    return [value for row in draw.choices(rows, k=len(rows)) for value in draw.choices(row, k=len(row))]
