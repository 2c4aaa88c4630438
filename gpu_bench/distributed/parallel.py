"""What every way of spreading a training step has in common: the step's interface, the model, clipping, optimizer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.distributed import ProcessGroup
from torch.distributed.tensor import DTensor

from gpu_bench.cases.sizes import SIZES, GPT2Config
from gpu_bench.distributed.case import ScalingCase
from gpu_bench.measure.gpt2 import GPT2

CLIP_NORM = 1.0


@dataclass(frozen=True)
class Here:
    """This process among the others.

    Attributes:
        rank: Which it is, from 0 on.
        world: How many there are.
        device: What it computes on.
    """

    rank: int
    world: int
    device: torch.device


class Parallel(Protocol):
    """One way of spreading a training step over processes."""

    loss_weight: float
    """What this process's loss counts for: the weighted sum over all processes is the loss of the whole batch."""

    def own(self, window: Tensor) -> Tensor:
        """The part of a batch, (B, T + 1) token numbers, that this process needs."""

    def step(self, window: Tensor) -> Tensor:
        """One whole training step over `own(window)`, on the device. Returns this process's loss, still there."""


def model_config(case: ScalingCase) -> GPT2Config:
    """The model's shape, its vocabulary padded to a multiple of 128, so that it divides among processes."""
    config = SIZES[case.model]
    return replace(config, vocab=-(-config.vocab // 128) * 128)


def make_model(case: ScalingCase, device: torch.device) -> GPT2:
    """The whole model, with the same weights in every process."""
    torch.set_float32_matmul_precision("highest")
    torch.manual_seed(case.seed)
    with device:
        return GPT2(model_config(case))


def mixed_precision(case: ScalingCase, device: torch.device) -> AbstractContextManager[None]:
    """Autocast to BF16, where the case asks for it."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=case.precision == "amp-bf16")


def make_optimizer(parameters: Iterable[nn.Parameter], learning_rate: float) -> torch.optim.Optimizer:
    """AdamW. Spread and whole parameters form two groups, since one fused update cannot take both kinds."""
    groups = [{"params": group} for group in by_kind(parameters) if group]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.1)


def by_kind(parameters: Iterable[nn.Parameter]) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Parameters that are spread over processes, and those that are whole in each."""
    spread: list[nn.Parameter] = []
    whole: list[nn.Parameter] = []
    for parameter in parameters:
        (spread if isinstance(parameter, DTensor) else whole).append(parameter)
    return spread, whole


def clip(
    parameters: Sequence[nn.Parameter], group: ProcessGroup | None = None, counted: Sequence[nn.Parameter] | None = None
) -> None:
    """Scale all gradients down to a global norm of at most `CLIP_NORM`.

    Args:
        parameters: This process's.
        group: The processes that hold different parameters, whose norms have to be put together; None where all hold
            a part of every parameter, or all of them.
        counted: Which of them count for the norm; None is all.
    """
    squared = torch.zeros((), device=parameters[0].device)
    for alike in by_kind(parameters if counted is None else counted):
        gradients = [parameter.grad for parameter in alike if parameter.grad is not None]
        if gradients:
            norm = nn.utils.get_total_norm(gradients)
            squared += (norm.full_tensor() if isinstance(norm, DTensor) else norm).square()
    if group is not None:
        torch.distributed.all_reduce(squared, group=group)
    for alike in by_kind(parameters):
        if alike:
            nn.utils.clip_grads_with_norm_(alike, CLIP_NORM, squared.sqrt())
