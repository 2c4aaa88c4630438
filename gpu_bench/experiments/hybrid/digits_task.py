"""The task on handwritten digits: two convolutions and a linear layer tell which digit an image shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpu_bench.experiments.digits import CLASSES
from gpu_bench.experiments.digits.digits import Digits

Batch = tuple[Tensor, Tensor]
"""Inputs and targets."""
TOGETHER = 1000
"""Images that pass the network at once when it is tested."""


class DigitsTask:
    """Digits, on the CPU or a GPU; the second convolution has twice as many channels as the first."""

    def __init__(self, data: Digits, channels: int, device: torch.device) -> None:
        self.data, self.channels, self.device = data, channels, device

    def about(self) -> dict[str, Any]:
        """File, and images to train on and to test with."""
        return {**self.data.as_dict(), "tokenizer": None}

    def network(self, seed: int) -> nn.Module:
        """Two convolutions and a linear layer."""
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return nn.Sequential(
                nn.Unflatten(1, (1, self.data.side, self.data.side)),
                nn.Conv2d(1, self.channels, 3, padding=1),
                nn.ReLU(),
                nn.Conv2d(self.channels, 2 * self.channels, 3, stride=2, padding=1),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(2 * self.channels * (self.data.side // 2) ** 2, CLASSES),
            ).to(self.device)

    def batches(self, size: int, seed: int) -> Iterator[Batch]:
        """Images and classes, every epoch in an order of its own, the last incomplete batch left out."""
        draw = torch.Generator().manual_seed(seed)
        while True:
            order = torch.randperm(len(self.data.classes), generator=draw)
            for start in range(0, len(order) - size + 1, size):
                chosen = order[start : start + size]
                yield self.data.images[chosen].to(self.device), self.data.classes[chosen].to(self.device)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The mean cross-entropy."""
        images, classes = batch
        return functional.cross_entropy(model(images), classes)

    @torch.no_grad()
    def test(self, model: nn.Module) -> tuple[float, float]:
        """Over all test digits."""
        parts = torch.split(self.data.test_images, TOGETHER)
        out = torch.cat([model(part.to(self.device)).cpu() for part in parts])
        right = (out.argmax(1) == self.data.test_classes).float().mean()
        return float(functional.cross_entropy(out, self.data.test_classes)), float(right)
