"""A baseline for comparison: one utilization per GPU, which many people use instead of a model of time.

A step's time is then its model FLOPs (6 N + 12 L h T per token) over utilization x dense peak x devices. The
utilization is chosen in two ways. *Carried over*: what the other sources reached on that GPU, else on its family;
nothing of the source itself is known. *In hindsight*: the one number that suits the source's own rows best; nobody
can know it before.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from ironlaw.graph.operations import flops_per_token
from tools.accuracy.observations import Observation
from tools.accuracy.setups import row_setup


def utilization(o: Observation) -> float:
    """Model FLOPs of a row's step over what its devices' dense peak could have done in the published time."""
    c = row_setup(o.comparison.row)
    peak = c.chip.peak(c.precision.product_format) * c.devices
    return float(flops_per_token(c.model, c.sequence) * c.tokens / (o.comparison.published * peak))


def hindsight(seen: Sequence[Observation]) -> list[float]:
    """Relative error of each row's time, with the best utilization for each GPU and number format of its source."""
    reached = [utilization(o) for o in seen]
    groups: dict[tuple[str, str, str], list[float]] = {}
    for o, share in zip(seen, reached, strict=True):
        groups.setdefault(_group(o), []).append(share)
    chosen = {group: best(values) for group, values in groups.items()}
    return [share / chosen[_group(o)] - 1 for o, share in zip(seen, reached, strict=True)]


def carried_over(seen: Sequence[Observation]) -> list[float | None]:
    """Relative error of each row's time, with the median utilization of other sources; None where there is none.

    Every other source counts once, by the median of its rows, on the same GPU and number format, else on the same
    family and format, else on the same family.
    """
    reached = [(o, utilization(o)) for o in seen]
    return [_carried(o, share, reached) for o, share in reached]


def _carried(o: Observation, share: float, reached: Iterable[tuple[Observation, float]]) -> float | None:
    others = [(other, theirs) for other, theirs in reached if other.source != o.source]
    gpu = o.comparison.row.get("gpu")
    near = [(other, theirs) for other, theirs in others if other.features.family == o.features.family]
    same_numbers = [(other, theirs) for other, theirs in near if other.features.numbers == o.features.numbers]
    same_gpu = [(other, theirs) for other, theirs in same_numbers if other.comparison.row.get("gpu") == gpu]
    known = same_gpu or same_numbers or near
    if not known:
        return None
    by_source: dict[str, list[float]] = {}
    for other, theirs in known:
        by_source.setdefault(other.source, []).append(theirs)
    return share / statistics.median(statistics.median(values) for values in by_source.values()) - 1


def best(values: Sequence[float]) -> float:
    """The utilization with the smallest median of |value / utilization - 1|, tried at a thousand places."""
    low, high = min(values), max(values)
    tried = (low + (high - low) * step / 1000 for step in range(1001))
    return min(tried, key=lambda u: statistics.median(abs(value / u - 1) for value in values))


def _group(o: Observation) -> tuple[str, str, str]:
    return o.source, o.comparison.row.get("gpu"), o.features.numbers
