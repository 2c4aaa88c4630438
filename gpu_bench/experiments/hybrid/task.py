"""What is learned in the evaluation: a network, batches in an order that a seed fixes, and a test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from torch import Tensor, nn

Batch = tuple[Tensor, Tensor]


class Task(Protocol):
    """One task."""

    def about(self) -> dict[str, Any]:
        """What a record says of the data."""

    def network(self, seed: int) -> nn.Module:
        """A new network. Equal seeds give equal weights."""

    def batches(self, size: int, seed: int) -> Iterator[Batch]:
        """Inputs and targets without end. Equal seeds give equal batches."""

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The mean loss of a batch."""

    def test(self, model: nn.Module) -> tuple[float, float]:
        """Loss and share of right answers on data that is never trained on."""
