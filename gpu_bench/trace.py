"""What PyTorch's profiler saw while something ran: the complete events of its trace, with begin and duration."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from gpu_bench.intervals import Interval

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
