"""Activation checkpointing: what a block does not keep for its backward pass, and computes again instead.

| policy | kept of a block | computed again |
|---|---|---|
| `none` | everything | nothing |
| `selective` | all but the inside of attention | attention (Korthikanti et al. 2022, arXiv 2205.05198, section 5) |
| `selective-ops` | results of matrix products and of fused attention | everything between them |
| `every:K` | the input of every K-th block | the K blocks up to the next |
| `sqrt` | `every:K` with K near the root of the number of layers (Chen et al. 2016, arXiv 1604.06174) | |
| `full` | the input of every block: `every:1` | every block |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from engine.graph.checkpointing import sqrt_placement
from gpu_bench.gpt2 import one_after_another
from gpu_bench.recipe import Recipe

_KEPT = {
    torch.ops.aten.mm.default,
    torch.ops.aten.addmm.default,
    torch.ops.aten.bmm.default,
    torch.ops.aten._scaled_mm.default,
    torch.ops.aten._scaled_dot_product_flash_attention.default,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
    torch.ops.aten._scaled_dot_product_efficient_attention.default,
    torch.ops.aten._scaled_dot_product_cudnn_attention.default,
}
"""Operations whose results cost much to compute and little to keep."""


@dataclass(frozen=True)
class Checkpointed:
    """Compute parts of the blocks again in the backward pass, by a policy of the table above."""

    policy: str

    def apply(self, recipe: Recipe) -> Recipe:
        """Replace how the blocks run, or how attention runs inside them."""
        match self.policy:
            case "none":
                return recipe
            case "selective":
                return replace(recipe, config=replace(recipe.config, recompute_attention=True))
            case "selective-ops":
                return replace(recipe, run_blocks=_keeping_products)
            case _:
                return replace(recipe, run_blocks=partial(_in_segments, self.every(recipe.config.layers)))

    def every(self, layers: int) -> int:
        """Blocks in a segment that is computed again as a whole."""
        if self.policy == "sqrt":
            return sqrt_placement(layers)
        return 1 if self.policy == "full" else int(self.policy.partition(":")[2])


def _in_segments(every: int, blocks: Sequence[nn.Module], x: Tensor) -> Tensor:
    for start in range(0, len(blocks), every):
        segment = partial(one_after_another, blocks[start : start + every])
        x = checkpoint(segment, x, use_reentrant=False)  # (B, T, C)
    return x


def _keeping_products(blocks: Sequence[nn.Module], x: Tensor) -> Tensor:
    contexts = partial(create_selective_checkpoint_contexts, _keep_products)
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False, context_fn=contexts)  # (B, T, C)
    return x


def _keep_products(context: Any, operation: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_SAVE if operation in _KEPT else CheckpointPolicy.PREFER_RECOMPUTE
