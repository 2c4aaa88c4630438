"""Optimizers: PyTorch's own, in the implementation that is asked for, and AdamW with 8-bit state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import nn

from gpu_bench.case import OptimizerName, Update
from gpu_bench.recipe import Recipe
from gpu_bench.techniques.eight_bit import AdamW8bit

_UPDATES: dict[Update, dict[str, bool]] = {
    "default": {},
    "foreach": {"foreach": True},
    "for-loop": {"foreach": False},
    "fused": {"fused": True},
}
_FUSED = ("sgd", "momentum", "adam", "adamw")
_FP16_EPSILON = 1e-4
"""FP16 squares of gradients below 2.4e-4 are zero; what is added to their root must be of that size, or the update of
such a weight is a division by next to nothing. The usual 1e-8 is itself zero in FP16."""


@dataclass(frozen=True)
class Updated:
    """Update the parameters by an optimizer.

    Attributes:
        name: Which.
        learning_rate: Constant over the run.
        implementation: How PyTorch runs the step: on one tensor at a time, on lists of them, or as one fused kernel.
    """

    name: OptimizerName
    learning_rate: float
    implementation: Update = "default"

    def __post_init__(self) -> None:
        if self.implementation == "fused" and self.name not in _FUSED:
            raise ValueError(f"update is 'fused' with optimizer {self.name!r}; allowed: {', '.join(_FUSED)}")
        if self.implementation != "default" and self.name == "adamw-8bit":
            raise ValueError(f"update is {self.implementation!r} with optimizer 'adamw-8bit'; allowed: default")

    def apply(self, recipe: Recipe) -> Recipe:
        """Set the optimizer. Apply it after the precision, on which Adam's smallest divisor depends."""
        epsilon = _FP16_EPSILON if recipe.weights is torch.float16 else 1e-8
        return replace(recipe, optimizer=partial(_make, self, epsilon))


def _make(choice: Updated, epsilon: float, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    rate = choice.learning_rate
    how: dict[str, Any] = _UPDATES[choice.implementation]
    adam: dict[str, Any] = {"lr": rate, "betas": (0.9, 0.95), "eps": epsilon}
    match choice.name:
        case "sgd":
            return torch.optim.SGD(parameters, lr=rate, **how)
        case "momentum":
            return torch.optim.SGD(parameters, lr=rate, momentum=0.9, **how)
        case "rmsprop":
            return torch.optim.RMSprop(parameters, lr=rate, eps=epsilon, **how)
        case "adam":
            return torch.optim.Adam(parameters, **adam, **how)
        case "adamw":
            return torch.optim.AdamW(parameters, **adam, weight_decay=0.1, **how)
        case "adamw-8bit":
            return AdamW8bit(parameters, **adam, weight_decay=0.1)
