"""What PyTorch's profiler saw while something ran, and what intervals of its time cover together or alone."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

Interval = tuple[float, float]
"""Begin and end, in any one unit."""


def clip(intervals: Iterable[Interval], begin: float, end: float) -> list[Interval]:
    """The parts of intervals that lie within a window."""
    cut = [(max(left, begin), min(right, end)) for left, right in intervals]
    return [(left, right) for left, right in cut if left < right]


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Disjoint intervals that cover the same points, in order."""
    merged: list[Interval] = []
    for left, right in sorted(intervals):
        if merged and left <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(right, merged[-1][1])
        else:
            merged.append((left, right))
    return merged


def covered(intervals: Iterable[Interval]) -> float:
    """How long at least one of the intervals lasts."""
    return sum(right - left for left, right in union(intervals))


def beyond(intervals: Iterable[Interval], others: Iterable[Interval]) -> float:
    """How long at least one of the intervals lasts while none of the others does."""
    others = list(others)
    return covered([*intervals, *others]) - covered(others)


WINDOW = "gpu_bench: profiled steps"
"""The name under which the trace marks the profiled time itself."""


def traced(steps: Callable[[], None], device: torch.device) -> list[Mapping[str, Any]]:
    """Run `steps` under the profiler, to the end of the device's work, and return the trace's complete events."""
    activities = [ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as profiler, record_function(WINDOW):
        steps()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return [event for event in events if event.get("ph") == "X"]


def interval(event: Mapping[str, Any]) -> Interval:
    """Begin and end of an event, in microseconds."""
    return event["ts"], event["ts"] + event["dur"]
