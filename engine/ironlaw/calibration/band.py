"""A prediction with experience: the value to expect, a 90 % band, and how many published runs stand behind it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from ironlaw.calibration.coefficients import KINDS, Features, coefficients

NINETY = 1.6449
"""Half the width of the range that holds 90 % of a normal distribution, in standard deviations."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A physical prediction corrected by what published runs took.

    Attributes:
        expected: The value that half of such runs exceed, in the unit of the prediction.
        low: One run in twenty lies below.
        high: One run in twenty lies above.
        runs: Published runs with the same words in `Features`, and a quarter to four times the devices.
        sources: The number of sources that published them. Runs of one source share their error.
    """

    expected: float
    low: float
    high: float
    runs: int
    sources: int


def calibrate(kind: str, value: float, features: Features) -> Calibrated:
    """What to expect where physics says `value`.

    Args:
        kind: `"time"`, `"allocated"` (the allocator's peak) or `"device memory"` (what the driver shows).
        value: The physical prediction, in any unit; not negative.
        features: What is known about the run.

    Raises:
        ValueError: An unknown kind or a negative value.

    Source: `coefficients.toml`, fitted by `tools.accuracy.calibrate` to the rows of `tools/accuracy/data`.
    """
    if not (value.min() if hasattr(value, "min") else value) >= 0:
        raise ValueError(f"value is {value}, allowed: 0 or more")
    expected, low, high, runs, sources = _factors(kind, features)
    return Calibrated(value * expected, value * low, value * high, runs, sources)


@lru_cache(maxsize=4096)
def _factors(kind: str, features: Features) -> tuple[float, float, float, int, int]:
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r} is unknown, allowed: {', '.join(KINDS)}")
    model = coefficients()[kind]
    mean, variance = model.expect(features)
    half = NINETY * math.sqrt(variance)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half), *model.near(features)
