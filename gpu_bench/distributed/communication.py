"""What communication takes of a step, from the profiler's record of what ran when.

Two shares, because they answer two questions. `busy`: the time in which data was under way between processes, or a
process waited for another one's. `exposed`: the part of it in which the device did nothing else, which is what a step
would gain if communication cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gpu_bench.measure.trace import WINDOW, beyond, clip, covered, interval, traced

_DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


@dataclass(frozen=True)
class Shares:
    """Shares of the profiled steps' time, 0 to 1."""

    busy: float
    exposed: float


def profiled_shares(steps: Callable[[], None], device: torch.device) -> Shares:
    """Run `steps` under the profiler and return what communication took of their time in this process."""
    return shares(traced(steps, device), device.type)


def shares(events: Sequence[Mapping[str, Any]], device: str) -> Shares:
    """What communication took of the profiled steps, from the complete events of a trace.

    On a GPU, communication is NCCL's kernels and computation all other work of the device. On a CPU, communication is
    Gloo's operations, from their start to their end on Gloo's own threads, and computation is PyTorch's innermost
    operations: an outer one may do nothing but wait for communication inside it.
    """
    # On a GPU the window is marked a second time, on the device's own line, where it begins and ends with its work.
    marked = [event for event in events if event["name"] == WINDOW and event.get("cat") == "user_annotation"]
    begin, end = interval(marked[0])
    if device == "cuda":
        work = [event for event in events if event.get("cat") in _DEVICE_WORK]
        communication = [event for event in work if "nccl" in event["name"].lower()]
        computation = [event for event in work if "nccl" not in event["name"].lower()]
    else:
        communication = [event for event in events if event["name"].startswith("gloo:")]
        operations = [event for event in events if event.get("cat") == "cpu_op"]
        computation = [event for event in _innermost(operations) if event["name"].startswith("aten::")]
    sending = clip(map(interval, communication), begin, end)
    computing = clip(map(interval, computation), begin, end)
    whole = end - begin
    return Shares(busy=covered(sending) / whole, exposed=beyond(sending, computing) / whole)


def _innermost(events: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The events of each thread that contain no other one."""
    ordered = sorted(events, key=lambda event: (event["pid"], event["tid"], event["ts"], -event["dur"]))
    return [
        event
        for event, after in zip(ordered, [*ordered[1:], None], strict=True)
        if after is None
        or (after["pid"], after["tid"]) != (event["pid"], event["tid"])
        or after["ts"] >= event["ts"] + event["dur"]
    ]
