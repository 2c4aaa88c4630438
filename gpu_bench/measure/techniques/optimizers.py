"""Optimizers: PyTorch's own, or AdamW over long vectors (`flat.py`), each also run during the backward pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from gpu_bench.cases.case import OptimizerName, Precision, TrainingCase
from gpu_bench.measure.peers import eight_bit_by_torchao
from gpu_bench.measure.techniques.flat import FlatAdamW, Weights

_WEIGHTS: dict[Precision, Weights] = {
    "bf16-master": "bf16-master", "fp8-master": "bf16-master", "bf16-rounded": "bf16-rounded"
}  # fmt: skip
_STATELESS: tuple[OptimizerName, ...] = ("sgd", "momentum")
"""Optimizers that do not count their steps."""


def make_optimizer(case: TrainingCase, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """The case's optimizer; PyTorch runs its step on lists of tensors, or as one fused kernel."""
    parameters = list(parameters)
    rate = case.learning_rate
    adam: dict[str, Any] = {"lr": rate, "betas": (0.9, 0.95), "eps": 1e-8}
    if case.update == "flat":
        return FlatAdamW(
            parameters,
            **adam,
            weights=_WEIGHTS.get(case.precision, "as-is"),
            eight_bit=case.optimizer == "adamw-8bit",
            clip_norm=case.clip_norm,
        )
    how: dict[str, Any] = {"fused": True} if case.update == "fused" else {}
    if case.step_graph and case.optimizer not in _STATELESS and parameters[0].device.type == "cuda":
        # Counts steps on the GPU; PyTorch refuses to record an update that counts them on the host.
        how = {**how, "capturable": True}
    match case.optimizer:
        case "sgd":
            return torch.optim.SGD(parameters, lr=rate, **how)
        case "momentum":
            return torch.optim.SGD(parameters, lr=rate, momentum=0.9, **how)
        case "adam":
            return torch.optim.Adam(parameters, **adam, **how)
        case "adamw":
            return torch.optim.AdamW(parameters, **adam, weight_decay=0.1, **how)
        case "adamw-8bit":
            return eight_bit_by_torchao(parameters, **adam, weight_decay=0.1)


def update_in_backward(case: TrainingCase, parameters: Iterable[nn.Parameter]) -> tuple[torch.optim.Optimizer, ...]:
    """Give every parameter an optimizer of its own that runs, and frees its gradient, as soon as that is known.

    No two gradients of different layers need to be alive at once. The price: no clipping by the global norm, which
    needs all gradients, and no accumulation.
    """
    optimizers: list[torch.optim.Optimizer] = []
    for parameter in parameters:
        optimizer = make_optimizer(case, [parameter])

        def update(_: torch.Tensor, optimizer: torch.optim.Optimizer = optimizer) -> None:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        parameter.register_post_accumulate_grad_hook(update)  # type: ignore[no-untyped-call]
        optimizers.append(optimizer)
    return tuple(optimizers)
