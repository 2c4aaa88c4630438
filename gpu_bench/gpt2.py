"""GPT-2, flat: one file, one pass through the model, every shape at the end of its line.

Letters in the comments: B batch, T sequence length, C hidden size, H heads, D = C / H head size, V vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

Attention = Literal["flash", "standard"]


@dataclass(frozen=True)
class GPT2Config:
    """The shape of a GPT-2, and the two choices that change which tensors are kept for the backward pass."""

    layers: int = 12
    heads: int = 12
    hidden: int = 768
    vocab: int = 50257
    """50,256 byte pairs and one end-of-text token. 50,304 (a multiple of 64) is faster and adds 47 unused rows."""
    max_seq: int = 1024
    dropout: float = 0.0
    """0.1 in the paper. 0 here: today's pre-training sees each token once, so there is little to regularise."""
    bias: bool = True
    """True as published: every Linear and LayerNorm has a bias."""
    attention: Attention = "flash"
    """`flash` never stores the T x T scores; `standard` materialises scores, softmax and dropout."""
    tanh_gelu: bool = True
    """GPT-2 was trained with the tanh form of GELU, so its published weights expect it. Memory is the same."""

    def __post_init__(self) -> None:
        if self.hidden % self.heads:
            raise ValueError(f"hidden {self.hidden} is not a multiple of heads {self.heads}")
        if self.attention not in ("flash", "standard"):
            raise ValueError(f"attention is {self.attention!r}; allowed: 'flash', 'standard'")
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout is {self.dropout}; allowed: 0 <= dropout < 1")


SIZES: dict[str, GPT2Config] = {
    # Byte-level and small enough for two CPU cores, yet wide enough that optimizer state shows in the memory.
    "nano": GPT2Config(layers=4, heads=4, hidden=256, vocab=256, max_seq=256),
    "gpt2": GPT2Config(layers=12, heads=12, hidden=768),
    "gpt2-medium": GPT2Config(layers=24, heads=16, hidden=1024),
    "gpt2-large": GPT2Config(layers=36, heads=20, hidden=1280),
    "gpt2-xl": GPT2Config(layers=48, heads=25, hidden=1600),
}


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
        if self.config.attention == "flash":
            dropout = self.config.dropout if self.training else 0.0
            y = functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)  # (B, H, T, D)
        else:
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(d))  # (B, H, T, T)
            future = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)  # (T, T)
            scores = scores.masked_fill(future, float("-inf"))  # (B, H, T, T)
            weights = self.attn_dropout(functional.softmax(scores, dim=-1))  # (B, H, T, T)
            y = weights @ v  # (B, H, T, D)
        y = y.transpose(1, 2).contiguous().view(b, t, c)  # (B, T, C)
        out: Tensor = self.resid_dropout(self.c_proj(y))  # (B, T, C)
        return out


class MLP(nn.Module):
    """Two linear layers around a GELU, four times as wide in the middle."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.c_fc = nn.Linear(config.hidden, 4 * config.hidden, bias=config.bias)
        self.gelu = nn.GELU(approximate="tanh" if config.tanh_gelu else "none")
        self.c_proj = nn.Linear(4 * config.hidden, config.hidden, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each position on its own."""
        x = self.gelu(self.c_fc(x))  # (B, T, 4C)
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
        x = x + self.attn(self.ln_1(x))  # (B, T, C)
        out: Tensor = x + self.mlp(self.ln_2(x))  # (B, T, C)
        return out


class GPT2(nn.Module):
    """The language model. Input embedding and output head share one V x C matrix."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.config = config
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

    def forward(self, tokens: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Score the next token everywhere.

        Args:
            tokens: (B, T) integers below V.
            targets: (B, T), the token that follows each position.

        Returns:
            Logits (B, T, V) and the mean cross-entropy in nats per token.
        """
        _, t = tokens.shape
        if t > self.config.max_seq:
            raise ValueError(f"sequence length {t} exceeds max_seq {self.config.max_seq}")
        positions = torch.arange(t, device=tokens.device)  # (T,)
        x = self.drop(self.wte(tokens) + self.wpe(positions))  # (B, T, C)
        for block in self.blocks:
            x = block(x)  # (B, T, C)
        logits = self.lm_head(self.ln_f(x))  # (B, T, V)
        loss = functional.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))  # (B T, V) -> scalar
        return logits, loss

    def parameter_count(self) -> int:
        """Number of parameters; the shared matrix counts once."""
        return sum(parameter.numel() for parameter in self.parameters())


def _initialise(module: nn.Module) -> None:
    """GPT-2's initialisation: normal with deviation 0.02, biases zero; LayerNorm keeps PyTorch's ones and zeros."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
