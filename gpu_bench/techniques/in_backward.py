"""Optimizer in backward: each parameter is updated, and its gradient freed, as soon as its gradient is known.

No two gradients of different layers need to be alive at once. The price: no clipping by the global norm, which needs
all gradients, and no accumulation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import nn

from gpu_bench.recipe import MakeOptimizer, Recipe


@dataclass(frozen=True)
class OptimizerInBackward:
    """Update parameters during the backward pass."""

    def apply(self, recipe: Recipe) -> Recipe:
        """Switch it on, and clipping off."""
        return replace(recipe, update_in_backward=True, clip_norm=None)


def update_in_hooks(
    parameters: Iterable[nn.Parameter], make_optimizer: MakeOptimizer
) -> tuple[torch.optim.Optimizer, ...]:
    """Give every parameter an optimizer of its own that runs when the parameter's gradient has been accumulated.

    Returns:
        The optimizers, which own the state.
    """
    optimizers: list[torch.optim.Optimizer] = []
    for parameter in parameters:
        optimizer = make_optimizer([parameter])

        def update(_: torch.Tensor, optimizer: torch.optim.Optimizer = optimizer) -> None:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        parameter.register_post_accumulate_grad_hook(update)  # type: ignore[no-untyped-call]
        optimizers.append(optimizer)
    return tuple(optimizers)
