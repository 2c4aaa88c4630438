"""How a training step is built: parts that are plain values and functions, each of which a technique can replace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import nn
from torch.nn.attention import SDPBackend

from gpu_bench.case import Compile
from gpu_bench.gpt2 import GPT2, GPT2Config, RunBlocks, RunHead, one_after_another, whole_loss

MakeOptimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


def plain_sgd(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """The simplest optimizer, where no technique names another."""
    return torch.optim.SGD(parameters, lr=0.01)


def leave_as_is(model: GPT2) -> None:
    """Change nothing about the model."""


@dataclass(frozen=True)
class Recipe:
    """A training step before it is built.

    Attributes:
        config: The model's shape.
        weights: Format of parameters, and so of gradients and optimizer state.
        autocast: Format in which matrix products run over parameters of another one; None is the parameters' own.
        tf32: Whether FP32 products may round their operands to TF32.
        scaled: Whether the loss is scaled up and gradients down, as FP16 gradients need.
        kernels: Fused attention kernels that may run; empty is PyTorch's choice.
        run_blocks: How the residual stream passes the blocks.
        run_head: How logits and loss are computed.
        convert: Replaces modules of the finished model.
        optimizer: Makes an optimizer for parameters.
        clip_norm: Largest global norm of the gradients, or None.
        compile: Mode of `torch.compile` over model and loss together, or `none`.
        accumulate: Forward and backward passes per step.
        update_in_backward: Whether each parameter is updated as soon as its gradient is known.
    """

    config: GPT2Config
    weights: torch.dtype = torch.float32
    autocast: torch.dtype | None = None
    tf32: bool = False
    scaled: bool = False
    kernels: tuple[SDPBackend, ...] = ()
    run_blocks: RunBlocks = one_after_another
    run_head: RunHead = whole_loss
    convert: Callable[[GPT2], None] = leave_as_is
    optimizer: MakeOptimizer = plain_sgd
    clip_norm: float | None = None
    compile: Compile = "none"
    accumulate: int = 1
    update_in_backward: bool = False


class Technique(Protocol):
    """A small frozen policy: what it replaces in a recipe, and nothing else."""

    def apply(self, recipe: Recipe) -> Recipe:
        """The recipe with the technique. Pure: the given one stays as it is."""
