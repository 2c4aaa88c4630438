"""GPT-2, flat: one file, one pass through the model, every shape at the end of its line.

Letters in the comments: B batch, T sequence length, C hidden size, H heads, D = C / H head size, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend
from torch.utils.checkpoint import checkpoint

from gpu_bench.cases.case import AttentionKernel
from gpu_bench.cases.sizes import SIZES, GPT2Config

__all__ = ["GPT2", "SIZES", "GPT2Config", "RunBlocks", "RunHead", "one_after_another", "whole_loss"]

RunBlocks = Callable[[Sequence[nn.Module], Tensor], Tensor]
"""Blocks and residual stream (B, T, C) -> the residual stream (B, T, C) after the blocks."""
RunHead = Callable[[nn.Module, nn.Linear, Tensor, Tensor], tuple[Tensor | None, Tensor]]
"""Final norm, head, (B, T, C) and targets (B, T) -> logits, or None if they never exist as a whole; and the loss."""
KERNELS: dict[AttentionKernel | Literal["efficient"], tuple[SDPBackend, ...]] = {
    "auto": (),
    "flash": (SDPBackend.FLASH_ATTENTION,),
    "efficient": (SDPBackend.EFFICIENT_ATTENTION,),
    "cudnn": (SDPBackend.CUDNN_ATTENTION,),
}
"""Fused attention kernels that may run; with none named, PyTorch chooses. A named one that cannot run is an error."""


class SelfAttention(nn.Module):
    """Causal multi-head self-attention with one merged projection for query, key and value."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.config = config
        self.c_attn = nn.Linear(config.hidden, 3 * config.hidden, bias=config.bias)
        self.c_proj = nn.Linear(config.hidden, config.hidden, bias=config.bias)
        self.attn_dropout = nn.Dropout(config.dropout)
        self.resid_dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Attend from every position to itself and the earlier ones."""
        b, t, c = x.shape
        h, d = self.config.heads, self.config.hidden // self.config.heads
        q, k, v = self.c_attn(x).split(c, dim=2)  # (B, T, 3C) -> three times (B, T, C)
        q = q.view(b, t, h, d).transpose(1, 2)  # (B, H, T, D)
        k = k.view(b, t, h, d).transpose(1, 2)  # (B, H, T, D)
        v = v.view(b, t, h, d).transpose(1, 2)  # (B, H, T, D)
        if self.config.recompute_attention:
            y = checkpoint(self.attend, q, k, v, use_reentrant=False)  # (B, T, C)
        else:
            y = self.attend(q, k, v)  # (B, T, C)
        out: Tensor = self.resid_dropout(self.c_proj(y))  # (B, T, C)
        return out

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Mix the values (B, H, T, D) by how well queries match keys; returns the heads side by side, (B, T, C)."""
        b, h, t, d = q.shape
        if self.config.attention == "flash":
            dropout = self.config.dropout if self.training else 0.0
            y = functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)  # (B, H, T, D)
        else:
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(d))  # (B, H, T, T)
            future = torch.ones(t, t, dtype=torch.bool, device=q.device).triu(1)  # (T, T)
            scores = scores.masked_fill(future, float("-inf"))  # (B, H, T, T)
            weights = self.attn_dropout(functional.softmax(scores, dim=-1))  # (B, H, T, T)
            y = weights @ v  # (B, H, T, D)
        return y.transpose(1, 2).contiguous().view(b, t, h * d)  # (B, T, C)


class MLP(nn.Module):
    """Two linear layers around an activation function, four times as wide in the middle."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.c_fc = nn.Linear(config.hidden, 4 * config.hidden, bias=config.bias)
        self.c_proj = nn.Linear(4 * config.hidden, config.hidden, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each position on its own."""
        x = functional.gelu(self.c_fc(x), approximate="tanh")  # (B, T, 4C)
        out: Tensor = self.dropout(self.c_proj(x))  # (B, T, C)
        return out


class Block(nn.Module):
    """One pre-norm transformer layer: attention and MLP, each added to the residual stream."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.hidden, bias=config.bias)
        self.attn = SelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.hidden, bias=config.bias)
        self.mlp = MLP(config)

    def forward(self, x: Tensor) -> Tensor:
        """Add attention, then the MLP."""
        x, added = self.unjoined(x)
        return x + added  # (B, T, C)

    def unjoined(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The stream after attention, and what the MLP adds to it, both (B, T, C)."""
        x = x + self.attn(self.ln_1(x))  # (B, T, C)
        return x, self.mlp(self.ln_2(x))  # (B, T, C)


def one_after_another(blocks: Sequence[nn.Module], x: Tensor) -> Tensor:
    """Pass all blocks, each keeping what its backward pass needs."""
    for block in blocks:
        x = block(x)  # (B, T, C)
    return x


def whole_loss(norm: nn.Module, head: nn.Linear, x: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """All logits at once, and their mean cross-entropy."""
    logits = head(norm(x))  # (B, T, V)
    loss = functional.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))  # (B T, V) -> scalar
    return logits, loss


def wide_loss(norm: nn.Module, head: nn.Linear, x: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The same with softmax and loss in FP32, whatever the logits are: 16 bits show three digits of a loss."""
    logits = head(norm(x))  # (B, T, V)
    loss = functional.cross_entropy(logits.view(-1, logits.size(-1)).float(), targets.reshape(-1))
    return logits, loss


class GPT2(nn.Module):
    """The language model. Input embedding and output head share one V x C matrix.

    Args:
        config: The shape.
        run_blocks: How the residual stream passes the blocks.
        run_head: How logits and loss are computed.
        residual: Format of the residual stream; None is that of the embeddings. Under autocast, which computes what a
            block adds in 16 bit, an FP32 stream doubles the bytes of every addition and normalization.
    """

    def __init__(
        self,
        config: GPT2Config,
        run_blocks: RunBlocks = one_after_another,
        run_head: RunHead = whole_loss,
        residual: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.residual = residual
        self.run_blocks = run_blocks
        self.run_head = run_head
        self.wte = nn.Embedding(config.vocab, config.hidden)
        self.wpe = nn.Embedding(config.max_seq, config.hidden)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.ln_f = nn.LayerNorm(config.hidden, bias=config.bias)
        self.lm_head = nn.Linear(config.hidden, config.vocab, bias=False)
        self.lm_head.weight = self.wte.weight
        self.apply(_initialise)
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):
                # 2 L residual additions: scaled down so that the residual stream keeps unit variance (GPT-2, 2.3).
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * config.layers))

    def forward(self, tokens: Tensor, targets: Tensor) -> tuple[Tensor | None, Tensor]:
        """Score the next token everywhere, from tokens (B, T) below V and their followers, the targets (B, T).

        Returns logits (B, T, V), None when the head never has them all at once, and the mean cross-entropy, nats per
        token.
        """
        x = self.embed(tokens)  # (B, T, C)
        x = self.run_blocks(list(self.blocks), x)  # (B, T, C)
        return self.run_head(self.ln_f, self.lm_head, x, targets)

    def embed(self, tokens: Tensor) -> Tensor:
        """Tokens (B, T) to the start of the residual stream (B, T, C)."""
        _, t = tokens.shape
        if t > self.config.max_seq:
            raise ValueError(f"sequence length {t} exceeds max_seq {self.config.max_seq}")
        positions = torch.arange(t, device=tokens.device)  # (T,)
        x = self.drop(self.wte(tokens) + self.wpe(positions))  # (B, T, C)
        stream: Tensor = x if self.residual is None else x.to(self.residual)  # (B, T, C)
        return stream

    def parameter_count(self) -> int:
        """Number of parameters; the shared matrix counts once."""
        return sum(parameter.numel() for parameter in self.parameters())


def _initialise(module: nn.Module) -> None:
    """GPT-2's initialisation: normal with deviation 0.02, biases zero; LayerNorm keeps PyTorch's ones and zeros."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
