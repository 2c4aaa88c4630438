"""Chunked loss: logits and cross-entropy piece by piece along the sequence, so that they never exist all at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from gpu_bench.recipe import Recipe


@dataclass(frozen=True)
class ChunkedLoss:
    """Compute the head in pieces. Each is computed again in the backward pass, which saves memory and costs time."""

    chunks: int

    def apply(self, recipe: Recipe) -> Recipe:
        """Replace the head."""
        return replace(recipe, run_head=partial(chunked_head, self.chunks))


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
