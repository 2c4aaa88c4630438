"""What the allocator's segments of published runs took beside those of a played step: a factor with a band."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from ironlaw.calibration.band import Calibrated
from ironlaw.calibration.coefficients import content


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
