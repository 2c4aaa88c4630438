"""Timing one operation by itself: many calls in each sample, so that the clock's own cost does not count."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from gpu_bench.stopwatch import Stopwatch

_SHORTEST_S = {"cuda": 2e-3, "cpu": 1e-3}
"""A sample lasts at least this long: far above the resolution of CUDA events, 0.5 us, and of the launch of a kernel."""
_MOST_CALLS = 10_000
_WARMUP_S = {"cuda": 0.05, "cpu": 0.0}
"""Clocks rise, libraries choose kernels, and caches fill before the first sample."""


def timed_rounds(call: Callable[[], object], device: torch.device, rounds: int) -> list[float]:
    """Seconds of one call, as the mean of one sample's calls, for each of `rounds` samples."""
    once = max(_sample(call, device, 1), 1e-9)
    once = max(_sample(call, device, 1), 1e-9)
    calls = min(_MOST_CALLS, max(1, round(_SHORTEST_S[device.type] / once)))
    began = time.perf_counter()
    while time.perf_counter() - began < _WARMUP_S[device.type]:
        _sample(call, device, calls)
    return [round(_sample(call, device, calls), 12) for _ in range(rounds)]


def _sample(call: Callable[[], object], device: torch.device, calls: int) -> float:
    watch = Stopwatch(device)
    watch.mark()
    for _ in range(calls):
        call()
    watch.mark()
    return watch.seconds()[0] / calls
