"""A prediction with experience: the value to expect, a 90 % band, and how many published runs stand behind it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

from ironlaw.calibration.coefficients import KINDS, Features, coefficients, content

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


@dataclass(frozen=True, slots=True)
class ReservedBand:
    """ln(published / played) of reserved bytes: nine runs in ten lie within `width` of `mean`.

    Attributes:
        mean: Its expected value.
        width: Half the width of the band.
        rows: Published values behind it.
        models: The models that they are of.
    """

    mean: float
    width: float
    rows: int
    models: int


@cache
def reserved_band() -> ReservedBand:
    """The band, as `tools.accuracy.calibrate` fitted it to the rows of one half of the models."""
    return ReservedBand(**content()["reserved"])


def calibrate_reserved(value: float) -> Calibrated:
    """What to expect where a played step reserves `value` bytes. `sources` counts the models behind the band."""
    band = reserved_band()
    low, expected, high = (value * math.exp(band.mean + side * band.width) for side in (-1, 0, 1))
    return Calibrated(expected, low, high, band.rows, band.models)
