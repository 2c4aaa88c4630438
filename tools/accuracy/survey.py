"""What published training runs reach: the survey that claims about "most systems" are held against."""

from __future__ import annotations

import statistics
from functools import cache

from ironlaw.graph.operations import flops_per_token
from tools.accuracy.observations import publisher
from tools.accuracy.predict import published_seconds
from tools.accuracy.rows import MEASURES, load
from tools.accuracy.setups import row_setup, unasked

FULL = "full"
"""The adaptation that trains every weight. Adapters need fewer operations than `flops_per_token` counts."""


@cache
def surveyed() -> tuple[tuple[float, str], ...]:
    """MFU and publisher of every published time of a step of full training, by rising MFU.

    The MFU is the model's FLOPs over what the dense peak could have done in that time.
    """
    found = []
    for row in load():
        for kind, value in row.measures.items():
            if MEASURES[kind] == "time" and not unasked(row):
                c = row_setup(row)
                if c.adaptation.method != FULL:
                    continue
                peak = c.chip.peak(c.precision.product_format) * c.devices
                operations = flops_per_token(c.model, c.sequence) * c.tokens
                found.append((float(operations / (published_seconds(row, kind, value) * peak)), publisher(row)))
    return tuple(sorted(found))


def utilizations() -> tuple[float, ...]:
    """The MFU of every surveyed step, in rising order."""
    return tuple(mfu for mfu, _ in surveyed())


def population() -> str:
    """How many steps the survey has, and from how many publishers: `493 published steps of 22 publishers`."""
    return f"{len(surveyed())} published steps of {len({name for _, name in surveyed()})} publishers"


def utilization_at(quantile: float) -> float:
    """The MFU that a share `quantile` of the published runs stays below: the median at 0.5, the best tenth at 0.9."""
    parts = statistics.quantiles(utilizations(), n=100)
    return parts[round(100 * quantile) - 1]
