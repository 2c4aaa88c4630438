"""What published training runs reach: the survey that claims about "most systems" are held against."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from functools import cache

from ironlaw.files.gap import alike, utilization
from tools.accuracy.observations import publisher
from tools.accuracy.predict import published_seconds
from tools.accuracy.rows import MEASURES, load
from tools.accuracy.setups import row_setup, unasked

FULL = "full"
"""The adaptation that trains every weight. Adapters need fewer operations than `flops_per_token` counts."""


FEWEST = 30
"""Steps of cards of one name from which on the engine says where a step stands among them."""


@dataclass(frozen=True, order=True, slots=True)
class Surveyed:
    """A published time of a step.

    Attributes:
        mfu: The model's FLOPs over what the dense peak could have done in that time.
        publisher: Who published it.
        alike: The name of the card and the format of its products: `A100 16-bit`.
    """

    mfu: float
    publisher: str
    alike: str


@cache
def surveyed() -> tuple[Surveyed, ...]:
    """Every published time of a step of full training, by rising MFU."""
    found = []
    for row in load():
        for kind, value in row.measures.items():
            if MEASURES[kind] == "time" and not unasked(row):
                c = row_setup(row)
                if c.adaptation.method != FULL:
                    continue
                mfu = utilization(c, published_seconds(row, kind, value))
                found.append(Surveyed(mfu, publisher(row), alike(c)))
    return tuple(sorted(found))


def utilizations() -> tuple[float, ...]:
    """The MFU of every surveyed step, in rising order."""
    return tuple(one.mfu for one in surveyed())


def population() -> str:
    """How many steps the survey has, and from how many publishers: `493 published steps of 22 publishers`."""
    return f"{len(surveyed())} published steps of {len({one.publisher for one in surveyed()})} publishers"


def utilization_at(quantile: float) -> float:
    """The MFU that a share `quantile` of the published runs stays below: the median at 0.5, the best tenth at 0.9."""
    parts = statistics.quantiles(utilizations(), n=100)
    return parts[round(100 * quantile) - 1]
