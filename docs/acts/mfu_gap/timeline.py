"""Three steps on a clock, fetched one after the other and fetched in advance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from explorable import live

from .pipeline import Setting, shares, stages

CLOCK_TOPS = (1.5, 2.5, 4, 6, 8, 12, 16, 24, 32, 48)
"""Where the timeline may end, in seconds."""
WAYS = {"sequential": "One after the other", "overlapped": "In advance"}


def spans(setting: Setting, steps: int = 3) -> Iterator[live.Row]:
    """Three steps on a clock in seconds, fetched one after the other and fetched in advance."""
    split = shares(setting)
    again = split["recompute"] / (split["compute"] + split["recompute"])
    for way in WAYS:
        times = stages(replace(setting, prefetch=way == "overlapped"))
        end = fetched = 0.0
        for _ in range(steps):
            # In advance means: the workers began with this batch when they were done with the one before.
            fetch = fetched if way == "overlapped" else end
            at = max(end, fetch + times.load)
            yield span(way, "load", "data", fetch, fetch + times.load)
            fetched = fetch + times.load
            for lane, part, length in (
                ("copy", "data", times.hand_over),
                ("copy", "transfer", times.transfer),
                ("gpu", "compute", times.compute * (1 - again)),
                ("gpu", "recompute", times.compute * again),
            ):
                if length:
                    yield span(way, lane, part, at, at + length)
                at += length
            end = at


def span(way: str, lane: str, part: str, begin: float, end: float) -> live.Row:
    """One box of the timeline."""
    return {"way": way, "lane": lane, "part": part, "from": begin, "to": end}


def clock_top(setting: Setting) -> float:
    """Where the clock ends: one of a few places, so that boxes move and not the axis."""
    end = max(float(one["to"] or 0) for one in spans(setting))
    return next(top for top in CLOCK_TOPS if top >= end)
