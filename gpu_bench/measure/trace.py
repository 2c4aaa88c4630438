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
    return [event for event in events_of(profiler) if event.get("ph") == "X"]


def events_of(profiler: profile) -> list[dict[str, Any]]:
    """All events of a profile that is over."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return events


def interval(event: Mapping[str, Any]) -> Interval:
    """Begin and end of an event, in microseconds."""
    return event["ts"], event["ts"] + event["dur"]


_ATTENTION = {
    "_scaled_dot_product_flash_attention_for_cpu": "flash",
    "_scaled_dot_product_flash_attention": "flash",
    "_scaled_dot_product_efficient_attention": "efficient",
    "_scaled_dot_product_cudnn_attention": "cudnn",
    "_scaled_dot_product_attention_math": "math",
    "_scaled_dot_product_attention_math_for_mps": "math",
    "_scaled_dot_product_fused_attention_overrideable": "overridden",
}
"""PyTorch's operation -> the kernel it is."""
_ATTENTION_KERNELS = (
    ("cudnn_generated_fort_native_sdpa", "cudnn"),
    ("fmha_cutlass", "efficient"),
    ("flash_fwd", "flash"),
    ("flash::", "flash"),
)
"""Part of a CUDA kernel's name -> the same: a replayed CUDA graph runs kernels without their operations."""


def attention_kernels(step: Callable[[], object], device: torch.device) -> list[str]:
    """Which fused attention really ran in a step, by the profiler: `flash`, `efficient`, `cudnn`, `math`, ...

    PyTorch chooses among them by shapes, formats and version, so that two cases may have timed one kernel.
    """
    events = traced(lambda: (step(), None)[1], device)
    names = {str(event["name"]).removeprefix("aten::") for event in events}
    found = {_ATTENTION[name] for name in names if name in _ATTENTION}
    kernels = [str(event["name"]) for event in events if event.get("cat") == "kernel"]
    found |= {kernel for part, kernel in _ATTENTION_KERNELS if any(part in name for name in kernels)}
    return sorted(found)
