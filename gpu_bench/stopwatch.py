"""Times between marks: by the device's own clock on a GPU, where the host runs ahead, and by the host's elsewhere."""

from __future__ import annotations

import itertools
import time

import torch


class Stopwatch:
    """Marks moments of what a device does.

    On a GPU a mark is a CUDA event in the device's queue: it costs the host microseconds and delays nothing.

    Args:
        device: where the work runs.
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
