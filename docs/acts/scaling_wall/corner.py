"""Where the target's name stands in the picture: the end and side of its line that the curves leave widest open."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

End = Literal["left", "right"]
Side = Literal["above", "below"]
CORNERS: tuple[tuple[End, Side], ...] = (("left", "above"), ("left", "below"), ("right", "above"), ("right", "below"))
REACH = 0.35
"""Part of the axis that the name may take on a phone."""
SAMPLES = 8


def corner(points: Sequence[Mapping[str, Any]], target: float) -> tuple[End, Side]:
    """End and side of the widest gap between the target's line and the curves.

    Args:
        points: `devices`, `batch` and `mfu` (%) of every point; a curve for each number of devices.
        target: The target's MFU, in %.
    """
    gaps = {end: [mfu - target for mfu in _curves(points, end)] for end, _ in CORNERS}

    def room(place: tuple[End, Side]) -> float:
        end, side = place
        # A curve within the name's height of the line crosses it on whichever side.
        return min((abs(gap) for gap in gaps[end] if (gap > -1) == (side == "above")), default=100.0)

    return max(CORNERS, key=room)


def _curves(points: Sequence[Mapping[str, Any]], end: End) -> Iterator[float]:
    """MFU of every curve at some places near an end of the axis, whose scale is logarithmic."""
    places = [math.log(point["batch"]) for point in points]
    low, high = min(places), max(places)
    width = REACH * (high - low)
    first = low if end == "left" else high - width
    for name in {point["devices"] for point in points}:
        curve = sorted((math.log(one["batch"]), one["mfu"]) for one in points if one["devices"] == name)
        for number in range(SAMPLES + 1):
            at = first + width * number / SAMPLES
            for (x, y), (further, then) in pairwise(curve):
                if x <= at <= further:
                    yield y + (then - y) * (at - x) / (further - x)
