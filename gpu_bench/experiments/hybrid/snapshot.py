"""A copy of all that training changes, to which a diverged excursion goes back."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Weights, buffers and the optimizer's state at one moment."""

    tensors: dict[str, Tensor]  # The model's parameters and buffers by name
    optimizer: dict[str, Any]  # The optimizer's own state

    @classmethod
    def of(cls, model: nn.Module, optimizer: torch.optim.Optimizer, device: str | None = None) -> Snapshot:
        """A copy of what is there now, on a device, or on that where each tensor lives."""
        tensors = {name: _copy(tensor, device) for name, tensor in _named(model)}
        return cls(tensors, _copy(optimizer.state_dict(), device))

    def restore(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Make model and optimizer exactly what they were."""
        with torch.no_grad():
            for name, tensor in _named(model):
                tensor.copy_(self.tensors[name])
        optimizer.load_state_dict(copy.deepcopy(self.optimizer))

    @property
    def bytes(self) -> int:
        """Memory that the copy takes."""
        return sum(t.nbytes for t in self.tensors.values()) + state_bytes(self.optimizer)


def state_bytes(value: Any) -> int:
    """Bytes of all tensors inside lists, dictionaries and tuples."""
    if isinstance(value, Tensor):
        return value.nbytes
    if isinstance(value, dict):
        return sum(map(state_bytes, value.values()))
    return sum(map(state_bytes, value)) if isinstance(value, list | tuple) else 0


def _copy(value: Any, device: str | None) -> Any:
    """The same with every tensor copied."""
    if isinstance(value, Tensor):
        return value.detach().to(device or value.device, copy=True)
    if isinstance(value, dict):
        return {key: _copy(each, device) for key, each in value.items()}
    return [_copy(each, device) for each in value] if isinstance(value, list) else copy.deepcopy(value)


def _named(model: nn.Module) -> list[tuple[str, Tensor]]:
    return [*model.named_parameters(), *model.named_buffers()]
