"""A whole training step as one CUDA graph: the host launches once what otherwise takes a thousand launches.

It helps where kernels are so short that the host cannot launch them as fast as they run: small models and small
batches. The first steps run as they are, since libraries set themselves up and the optimizer makes its state in them;
then one step is recorded, which runs nothing, and every later step is a replay on that step's memory.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gpu_bench.measure.unsupported import UnsupportedError

AS_THEY_ARE = 3
"""Steps before one is recorded, as PyTorch's own notes on whole-network capture do it."""


class StepGraph:
    """Runs a step: as it is at first, then from a recording. Untried: no GPU has run it yet.

    Args:
        step: Takes a window of tokens on the device, trains on it, returns the loss there. It never waits for the
            device, and all its tensors have the same shapes every time.
        device: Where it runs.

    Raises:
        UnsupportedError: On a device without CUDA graphs.
    """

    def __init__(self, step: Callable[[Tensor], Tensor], device: torch.device) -> None:
        if device.type != "cuda":
            raise UnsupportedError(f"a CUDA graph needs a GPU; this device is {device.type}")
        self._step, self._taken = step, 0
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._graph: torch.cuda.CUDAGraph | None = None
        self._window = self._loss = torch.empty(0)

    def __call__(self, window: Tensor) -> Tensor:
        """Train on a window (B, T + 1); returns the loss on the device."""
        if self._graph is None and self._taken < AS_THEY_ARE:
            self._taken += 1
            return self._aside(window)
        if self._graph is None:
            self._window = window.clone()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph, stream=self._stream):
                self._loss = self._step(self._window)
        else:
            self._window.copy_(window)
        self._graph.replay()
        # A copy: the next replay writes its loss to the same place.
        return self._loss.clone()

    def _aside(self, window: Tensor) -> Tensor:
        """One step on the stream that will record."""
        here = torch.cuda.current_stream()
        self._stream.wait_stream(here)
        with torch.cuda.stream(self._stream):
            loss = self._step(window)
        here.wait_stream(self._stream)
        return loss
