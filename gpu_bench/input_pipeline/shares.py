"""What a step waits for, by PyTorch's profiler: every moment of the profiled steps belongs to one stage.

Compute comes first: a moment in which the device computes is compute, whatever else goes on. Of the rest, transfer is
when data moves to the device; of what is left, loading is when the training process waits for a batch. So `loading` is
what a step would gain from an endless supply of batches, not how long making one takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.profiler import record_function

from gpu_bench.measure.trace import WINDOW, Interval, beyond, clip, covered, interval, traced

LOADING, TRANSFER, COMPUTE = "loading", "transfer", "compute"
_PREFIX = "gpu_bench: "
_KERNELS = ("kernel", "gpu_memset")


def stage(name: str) -> record_function:
    """Mark a stage of the training process for the profiler; without one it costs about a microsecond."""
    return record_function(_PREFIX + name)


def profiled_shares(steps: Callable[[], None], device: torch.device) -> dict[str, float]:
    """Run `steps` under the profiler and return the share of each stage in their time; they sum to 1."""
    return shares(traced(steps, device), device.type)


def shares(events: Sequence[Mapping[str, Any]], device: str) -> dict[str, float]:
    """The shares `compute`, `transfer`, `loading` and `other`, from the complete events of a trace."""
    host = [event for event in events if event.get("cat") == "user_annotation"]
    begin, end = next(interval(event) for event in host if event["name"] == WINDOW)

    def marked(name: str) -> list[Interval]:
        return clip((interval(event) for event in host if event["name"] == _PREFIX + name), begin, end)

    if device == "cuda":
        computing = [interval(event) for event in events if event.get("cat") in _KERNELS]
        moving = [interval(event) for event in events if event.get("cat") == "gpu_memcpy" and "HtoD" in event["name"]]
        # A copy from memory that is not pinned goes through a buffer: the host is in it before the device is.
        moving += marked(TRANSFER)
    else:
        computing, moving = marked(COMPUTE), marked(TRANSFER)
    computing, moving, loading = clip(computing, begin, end), clip(moving, begin, end), marked(LOADING)
    whole = end - begin
    found = {
        COMPUTE: covered(computing) / whole,
        TRANSFER: beyond(moving, computing) / whole,
        LOADING: beyond(loading, [*computing, *moving]) / whole,
    }
    return {**found, "other": max(0.0, 1.0 - sum(found.values()))}
