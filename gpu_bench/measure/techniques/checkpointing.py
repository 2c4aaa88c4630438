"""Memory for time: what the blocks, and the head, do not keep for their backward pass and compute again instead.

| policy | kept of a block | computed again |
|---|---|---|
| `none` | everything | nothing |
| `selective` | all but the inside of attention | attention (Korthikanti et al. 2022, arXiv 2205.05198, section 5) |
| `full` | the input of every block | every block |
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from gpu_bench.cases.case import Checkpointing
from gpu_bench.measure.gpt2 import RunBlocks, RunHead, one_after_another, whole_loss


def blocks_under(policy: Checkpointing) -> RunBlocks:
    """How the residual stream passes the blocks under a policy of the table above.

    `selective` changes how attention runs inside a block, which the model's shape says, and not how blocks run.
    """
    return _each_again if policy == "full" else one_after_another


def _each_again(blocks: Sequence[nn.Module], x: Tensor) -> Tensor:
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)  # (B, T, C)
    return x


def head_in(chunks: int) -> RunHead:
    """The head and its loss at once, or in so many pieces along the sequence, whose logits never exist together."""
    return partial(chunked_head, chunks) if chunks > 1 else whole_loss


def chunked_head(chunks: int, norm: nn.Module, head: nn.Linear, x: Tensor, targets: Tensor) -> tuple[None, Tensor]:
    """Cut (B, T, C) into `chunks` pieces along T; the mean loss is exactly that of the whole.

    The last piece is shorter when T is not a multiple, so pieces are summed and divided by all tokens.
    """
    x = norm(x)  # (B, T, C)
    size = -(-x.shape[1] // chunks)
    pieces = zip(torch.split(x, size, dim=1), torch.split(targets, size, dim=1), strict=True)
    losses = [checkpoint(_summed_loss, head, piece, target, use_reentrant=False) for piece, target in pieces]
    return None, torch.stack(losses).sum() / targets.numel()


def _summed_loss(head: nn.Linear, x: Tensor, targets: Tensor) -> Tensor:
    logits = functional.linear(x, head.weight)  # (B, T / chunks, V)
    return functional.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1), reduction="sum")
