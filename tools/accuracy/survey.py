"""What published training runs reach: the survey that claims about "most systems" are held against."""

from __future__ import annotations

import statistics
from functools import cache

from ironlaw.graph.operations import flops_per_token
from tools.accuracy.predict import published_seconds
from tools.accuracy.rows import MEASURES, load
from tools.accuracy.setups import row_setup, unasked


@cache
def utilizations() -> tuple[float, ...]:
    """MFU of every published time of a step, in rising order: model FLOPs over what the dense peak could have done."""
    found = []
    for row in load():
        for kind, value in row.measures.items():
            if MEASURES[kind] == "time" and not unasked(row):
                c = row_setup(row)
                peak = c.chip.peak(c.precision.product_format) * c.devices
                operations = flops_per_token(c.model, c.sequence) * c.tokens
                found.append(float(operations / (published_seconds(row, kind, value) * peak)))
    return tuple(sorted(found))


def utilization_at(quantile: float) -> float:
    """The MFU that a share `quantile` of the published runs stays below: the median at 0.5, the best tenth at 0.9."""
    parts = statistics.quantiles(utilizations(), n=100)
    return parts[round(100 * quantile) - 1]
