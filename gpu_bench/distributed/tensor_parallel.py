"""Spreading every matrix: each process holds some heads, a part of the MLP's width and a part of the vocabulary.

Letters as in `gpt2.py`, and N processes. Two sums over all processes per block and pass: after attention, after MLP.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, loss_parallel, parallelize_module

from gpu_bench.distributed.case import ScalingCase
from gpu_bench.distributed.parallel import Here, clip, make_model, make_optimizer, mixed_precision
from gpu_bench.measure.gpt2 import GPT2, Block, SelfAttention

_PLAN = {
    "wte": RowwiseParallel(input_layouts=Replicate(), output_layouts=Replicate()),
    "lm_head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False),
    "blocks.*.attn.c_attn": ColwiseParallel(),
    "blocks.*.attn.c_proj": RowwiseParallel(),
    "blocks.*.mlp.c_fc": ColwiseParallel(),
    "blocks.*.mlp.c_proj": RowwiseParallel(),
}
"""Column-wise, then row-wise: what comes out of the first needs no exchange before it goes into the second."""


class LocalHeads(nn.Module):
    """Attention over this process's H / N heads: `c_attn` yields (B, T, 3C / N), `c_proj` takes (B, T, C / N).

    Args:
        whole: Attention over all heads, whose modules it takes over.
        heads: H / N.
    """

    def __init__(self, whole: SelfAttention, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj, self.resid_dropout = whole.c_attn, whole.c_proj, whole.resid_dropout
        self.attend = whole.attend

    def forward(self, x: Tensor) -> Tensor:
        """Attend with the own heads; the projection sums over all processes."""
        b, t, _ = x.shape
        q, k, v = self.c_attn(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)  # three times (B, H / N, T, D)
        out: Tensor = self.resid_dropout(self.c_proj(self.attend(q, k, v)))  # (B, T, C)
        return out


class TensorParallel:
    """A model whose matrices are spread; every process sees the whole batch."""

    def __init__(self, case: ScalingCase, here: Here) -> None:
        self.case, self.here = case, here
        self.model = make_model(case, here.device)
        if self.model.config.heads % here.world:
            raise ValueError(f"{case.model} has {self.model.config.heads} heads; {here.world} processes do not divide")
        _spread(self.model, here)
        self.optimizer = make_optimizer(self.model.parameters(), case.learning_rate)
        self.loss_weight = 1.0 / here.world

    def own(self, window: Tensor) -> Tensor:
        """All of it."""
        return window

    def step(self, window: Tensor) -> Tensor:
        """Forward, backward, clipping, optimizer; logits stay spread over the vocabulary, in the loss too."""
        with loss_parallel():
            with mixed_precision(self.case, self.here.device):
                _, loss = self.model(window[:, :-1], window[:, 1:])
            loss.backward()
        clip(list(self.model.parameters()))
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        result: Tensor = loss.detach().to_local()
        return result


def _spread(model: GPT2, here: Here) -> None:
    """Replace attention by that over the own heads, then spread the matrices."""
    n = here.world
    for block in model.blocks:
        assert isinstance(block, Block)
        _group_by_process(block.attn.c_attn, n)
        block.attn = cast(SelfAttention, LocalHeads(block.attn, model.config.heads // n))
    parallelize_module(model, init_device_mesh(here.device.type, (n,)), _PLAN)
    # Both were spread the same way, each into a tensor of its own; they are one matrix.
    model.lm_head.weight = model.wte.weight


@torch.no_grad()
def _group_by_process(c_attn: nn.Linear, n: int) -> None:
    """Reorder the rows from all queries, all keys, all values to those of process 0, those of process 1, ..."""
    width = c_attn.in_features // n
    for tensor in (c_attn.weight, c_attn.bias):
        if tensor is not None:
            grouped = tensor.view(3, n, width, *tensor.shape[1:]).transpose(
                0, 1
            )  # (3, N, C / N, ...) -> (N, 3, C / N, ...)
            tensor.copy_(grouped.flatten(0, 2).clone())
