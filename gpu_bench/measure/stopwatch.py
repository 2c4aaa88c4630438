"""Times between marks: by the device's own clock on a GPU, where the host runs ahead, and by the host's elsewhere."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import torch


class Stopwatch:
    """Marks moments of what a device does.

    On a GPU a mark is a CUDA event in the device's queue: it costs the host microseconds and delays nothing.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._events: list[torch.cuda.Event] = []
        self._moments: list[float] = []

    def mark(self) -> None:
        """Mark the moment at which all work given to the device so far is done."""
        if self._device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            event.record()
            self._events.append(event)
        else:
            self._moments.append(time.perf_counter())

    def seconds(self) -> list[float]:
        """Wait for the device; the seconds from each mark to the next."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
            return [float(start.elapsed_time(end)) / 1000 for start, end in itertools.pairwise(self._events)]
        return [end - start for start, end in itertools.pairwise(self._moments)]


_SHORTEST_S = {"cuda": 2e-3, "cpu": 1e-3}
"""A sample lasts at least this long: far above the resolution of CUDA events, 0.5 us, and of the launch of a kernel."""
_MOST_CALLS = 10_000
_WARMUP_S = {"cuda": 0.05, "cpu": 0.0}
"""Seconds before the first sample, in which clocks rise, libraries choose kernels, and caches fill."""


def timed_rounds(call: Callable[[], object], device: torch.device, rounds: int, busy_s: float = 0.0) -> list[float]:
    """Seconds of one call, as the mean of one sample's calls, for each of `rounds` samples.

    `busy_s` are the seconds of calls before the first sample, and of all samples, if that is longer than usual.
    """
    shortest_s = max(busy_s / rounds, _SHORTEST_S[device.type])
    once = max(_sample(call, device, 1), 1e-9)
    once = max(_sample(call, device, 1), 1e-9)
    calls = min(_MOST_CALLS, max(1, round(shortest_s / once)))
    began = time.perf_counter()
    while time.perf_counter() - began < max(busy_s, _WARMUP_S[device.type]):
        _sample(call, device, calls)
    return [round(_sample(call, device, calls), 12) for _ in range(rounds)]


def _sample(call: Callable[[], object], device: torch.device, calls: int) -> float:
    watch = Stopwatch(device)
    watch.mark()
    for _ in range(calls):
        call()
    watch.mark()
    return watch.seconds()[0] / calls
