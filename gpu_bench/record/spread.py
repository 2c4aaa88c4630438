"""Middle and spread of samples, as they stand in every record."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def summarize(values: Sequence[float]) -> dict[str, float | int]:
    """Median, quartiles, their distance and the number of samples; quartiles by linear interpolation."""
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return {"median": median, "q1": q1, "q3": q3, "iqr": q3 - q1, "n": len(values)}
