"""Three steps on a clock, fetched one after the other and fetched in advance."""

from __future__ import annotations

from collections.abc import Iterator

from plugins import live

from .pipeline import RECOMPUTE, Setting, stages

CLOCK_TOPS = (4000, 6000, 8000, 12000, 16000, 24000, 32000)
"""Where the timeline may end, in ms."""


def spans(setting: Setting, steps: int = 3) -> Iterator[live.Row]:
    """Three steps on a clock in ms, fetched one after the other and fetched in advance."""
    times = stages(setting)
    useful = times.compute / (1 + RECOMPUTE * setting.checkpointing)
    for way in ("sequential", "overlapped"):
        end = fetched = 0.0
        for _ in range(steps):
            # In advance means: the workers began with this batch when the step before it began.
            fetch = fetched if way == "overlapped" else end
            at = max(end, fetch + times.load)
            yield span(way, "load", "data", fetch, fetch + times.load)
            fetched = at
            for lane, part, length in (
                ("copy", "data", times.hand_over),
                ("copy", "transfer", times.transfer),
                ("gpu", "compute", useful),
                ("gpu", "recompute", times.compute - useful),
            ):
                if length:
                    yield span(way, lane, part, at, at + length)
                at += length
            end = at


def span(way: str, lane: str, part: str, begin: float, end: float) -> live.Row:
    """One box of the timeline."""
    return {"way": way, "lane": lane, "part": part, "from": 1e3 * begin, "to": 1e3 * end}


def clock_top(setting: Setting) -> int:
    """Where the clock ends: one of a few places, so that boxes move and not the axis."""
    end = max(float(one["to"] or 0) for one in spans(setting))
    return next(top for top in CLOCK_TOPS if top >= end)


WAYS = {"sequential": "One after the other", "overlapped": "In advance"}
