"""The list of Megatron's block against autograd: a block that keeps what its fused kernels keep, written in PyTorch.

In 16 bit PyTorch's operations keep the same tensors as Megatron's kernels: a softmax its result, a sum nothing. PyTorch
also keeps two statistics per token and norm, which the paper leaves out; hence 0.5 % and not to the byte.
"""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

from ironlaw import Transformer, training_memory

CONFIGURATIONS = [
    (hidden, heads, batch, sequence)
    for hidden, heads in ((1024, 16), (1600, 25))
    for batch in (1, 4)
    for sequence in (256, 1024)
]

norm = partial(nn.LayerNorm, dtype=torch.bfloat16)
linear = partial(nn.Linear, dtype=torch.bfloat16)


def dropped(x: torch.Tensor, share: float) -> torch.Tensor:
    """Dropout with a mask of one byte, as on a GPU; on a CPU PyTorch's own has a mask of the numbers' format."""
    return x * torch.empty(x.shape, dtype=torch.bool) / (1 - share) if share else x


class Block(nn.Module):
    """Norm, attention, norm, MLP, each followed by a dropout and a residual sum."""

    def __init__(self, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm_1, self.norm_2 = norm(hidden), norm(hidden)
        self.qkv, self.proj = linear(hidden, 3 * hidden), linear(hidden, hidden)
        self.widen, self.narrow = linear(hidden, 4 * hidden), linear(4 * hidden, hidden)

    def forward(self, x: torch.Tensor, future: torch.Tensor) -> torch.Tensor:
        batch, sequence, _ = x.shape
        parts = self.qkv(self.norm_1(x)).view(batch, sequence, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        # Megatron makes each of the three contiguous before the products, as these copies do.
        q, k, v = (part.reshape(batch * self.heads, sequence, -1) for part in parts)
        scores = torch.baddbmm(future, q, k.transpose(1, 2), beta=1, alpha=1 / math.sqrt(q.shape[-1]))
        shares = dropped(scores.softmax(-1), self.dropout)
        y = torch.bmm(shares, v).view(batch, self.heads, sequence, -1).transpose(1, 2).reshape(x.shape)
        x = x + dropped(self.proj(y), self.dropout)
        y = self.narrow(functional.gelu(self.widen(self.norm_2(x)), approximate="tanh"))
        return x + dropped(y, self.dropout)


def kept_by_autograd(hidden: int, heads: int, batch: int, sequence: int, dropout: float) -> int:
    """Bytes that the block's forward pass leaves saved for backward, its input among them."""
    kept: dict[int, torch.UntypedStorage] = {}
    with FakeTensorMode():
        block = Block(hidden, heads, dropout)
        x = torch.empty(batch, sequence, hidden, dtype=torch.bfloat16, requires_grad=True)
        future = torch.empty(1, sequence, sequence, dtype=torch.bfloat16)
        own = {p.untyped_storage()._cdata for p in block.parameters()}

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            if storage._cdata not in own:
                kept.setdefault(storage._cdata, storage)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            block(x, future)
        return sum(storage.nbytes() for storage in kept.values())


@pytest.mark.parametrize(("hidden", "heads", "batch", "sequence"), CONFIGURATIONS)
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_megatron_block_keeps_what_autograd_keeps(
    hidden: int, heads: int, batch: int, sequence: int, dropout: float
) -> None:
    shape = Transformer("t", layers=1, hidden=hidden, heads=heads, vocab=1000, max_seq=1024)
    ledger = training_memory(
        shape, precision="megatron", framework="megatron", batch=batch, sequence=sequence, attention="standard",
        dropout=dropout,
    )  # fmt: skip
    listed = sum(tensor.bytes for tensor in ledger.tensors if tensor.part == "block")
    assert listed == pytest.approx(kept_by_autograd(hidden, heads, batch, sequence, dropout), rel=0.005)
