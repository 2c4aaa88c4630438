"""GELU, its gradient and the gradients of biases, computed by the products beside which they stand.

A product ends by writing its result. What is done to the result before it is written costs next to nothing; as a kernel
of its own it reads and writes the whole tensor again. Three products of a block can do more:

| product | what it also computes |
|---|---|
| MLP's first layer, forward | GELU; it writes both what goes in and what comes out |
| MLP's second layer, gradient of its input | GELU's derivative, and the sum that is the first one's bias gradient |
| gradients of the weights of all other layers | the sum over tokens that is the gradient of the bias |

Each is an operator of PyTorch's with two forms. The plain one is how anybody would write it; it runs on a CPU and says
what is right. On CUDA the product is cuBLASLt's (`cublaslt.py`). Before a model uses it, another process tries every
product in its real shape: only one that computes the same, and is faster, is used (`trial.py`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpu_bench.measure.gpt2 import GPT2, MLP
from gpu_bench.measure.techniques import cublaslt
from gpu_bench.measure.techniques.cublaslt import BGRADB, DGELU_BGRAD, GELU_AUX_BIAS, Product


def forward_of(rows: int, n: int, k: int) -> Product:
    """(rows, k) times (n, k) transposed, with bias and GELU."""
    return Product(n, rows, k, True, False, GELU_AUX_BIAS)


def backward_of(rows: int, n: int, k: int) -> Product:
    """(rows, k) times (k, n), through GELU's derivative, and summed over rows."""
    return Product(n, rows, k, False, False, DGELU_BGRAD)


def sums_of(rows: int, n: int, k: int) -> Product:
    """(rows, n) transposed times (rows, k), and the first summed over rows."""
    return Product(k, n, rows, False, True, BGRADB)


def product_of(place: str, rows: int, hidden: int) -> Product:
    """The product of a place of `PLACES`, of a model so wide and over so many tokens."""
    wide = 4 * hidden
    match place:
        case "mlp-forward":
            return forward_of(rows, wide, hidden)
        case "mlp-backward":
            return backward_of(rows, wide, hidden)
        case "mlp-sums":
            return sums_of(rows, hidden, wide)
        case "attention-in":
            return sums_of(rows, 3 * hidden, hidden)
        case _:
            return sums_of(rows, hidden, hidden)


@torch.library.custom_op("gpu_bench::product_gelu", mutates_args=(), device_types="cpu")
def product_gelu(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """GELU(x W^T + b) and what goes into GELU, both (M, N), of (M, K), (N, K) and (N)."""
    before = functional.linear(x, weight, bias)
    return functional.gelu(before, approximate="tanh"), before


@product_gelu.register_kernel("cuda")
def product_gelu_fused(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """The same in one product of cuBLASLt."""
    (m, k), n = x.shape, weight.shape[0]
    after, before = x.new_empty(m, n), x.new_empty(m, n)
    cublaslt.multiply(forward_of(m, n, k), weight.contiguous(), x.contiguous(), after, bias, before)
    return after, before


@product_gelu.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape[0], weight.shape[0]), x.new_empty(x.shape[0], weight.shape[0])


@torch.library.custom_op("gpu_bench::gradient_gelu", mutates_args=(), device_types="cpu")
def gradient_gelu(gradient: Tensor, weight: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """Gradient of what goes into GELU (M, N), and its sum over M, of a layer behind GELU.

    From the gradient of the layer's output (M, K), its weight (K, N), and what goes into GELU (M, N).
    """
    after = torch.ops.aten.gelu_backward(gradient @ weight, before, approximate="tanh")
    return after, after.sum(0)


@gradient_gelu.register_kernel("cuda")
def gradient_gelu_fused(gradient: Tensor, weight: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """The same in one product of cuBLASLt."""
    (m, k), n = gradient.shape, weight.shape[1]
    after, summed = gradient.new_empty(m, n), gradient.new_empty(n)
    cublaslt.multiply(
        backward_of(m, n, k), weight.contiguous(), gradient.contiguous(), after, summed, before.contiguous()
    )
    return after, summed


@gradient_gelu.register_fake
def _(gradient: Tensor, weight: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    return before.new_empty(before.shape), before.new_empty(before.shape[1])


@torch.library.custom_op("gpu_bench::gradient_weight", mutates_args=(), device_types="cpu")
def gradient_weight(gradient: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of a layer's weight (N, K) and bias (N), of its output's gradient (M, N) and its input (M, K)."""
    return gradient.t() @ x, gradient.sum(0)


@gradient_weight.register_kernel("cuda")
def gradient_weight_fused(gradient: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """The same in one product of cuBLASLt."""
    (m, n), k = gradient.shape, x.shape[1]
    weight, summed = x.new_empty(n, k), x.new_empty(n)
    cublaslt.multiply(sums_of(m, n, k), x.contiguous(), gradient.contiguous(), weight, summed)
    return weight, summed


@gradient_weight.register_fake
def _(gradient: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    return x.new_empty(gradient.shape[1], x.shape[1]), x.new_empty(gradient.shape[1])


def _weight_and_bias(gradient: Tensor, x: Tensor, fused: bool) -> tuple[Tensor, Tensor]:
    # The plain form in sight of the compiler, which joins the sum to what computes the gradient.
    return gradient_weight(gradient, x) if fused else (gradient.t() @ x, gradient.sum(0))


class _Linear(torch.autograd.Function):
    """x W^T + b, whose weight gradient sums up the bias's."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """(M, K), (N, K), (N) to (M, N)."""
        ctx.save_for_backward(x, weight)
        return functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(M, N) to the gradients of all three."""
        x, weight = ctx.saved_tensors
        return gradient @ weight, *_weight_and_bias(gradient, x, True)


class _TwoLayers(torch.autograd.Function):
    """GELU(x W1^T + b1) W2^T + b2, by whichever of the three operators are to be used."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, fused: tuple[bool, bool, bool]
    ) -> Tensor:
        """(M, C), (F, C), (F), (C, F), (C) to (M, C); `fused` says which of the MLP's places have an epilogue."""
        if fused[0]:
            after, before = product_gelu(x, w1, b1)
        else:
            before = functional.linear(x, w1, b1)
            after = functional.gelu(before, approximate="tanh")
        ctx.save_for_backward(x, before, after, w1, w2)
        ctx.fused = fused
        return functional.linear(after, w2, b2)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """(M, C) to the gradients of input, weights and biases."""
        x, before, after, w1, w2 = ctx.saved_tensors
        _, backward_gelu, sums = ctx.fused
        for_w2, for_b2 = _weight_and_bias(gradient, after, sums)
        if backward_gelu:
            inner, for_b1 = gradient_gelu(gradient, w2, before)
        else:
            inner = torch.ops.aten.gelu_backward(gradient @ w2, before, approximate="tanh")
            for_b1 = inner.sum(0)
        return inner @ w1, inner.t() @ x, for_b1, for_w2, for_b2, None


_MLP = ("mlp-forward", "mlp-backward", "mlp-sums")
PLACES = (*_MLP, "attention-in", "attention-out")
"""Products of a block that have an epilogue: the MLP's three, and the weight gradients of attention's two layers."""


class SummingLinear(nn.Linear):
    """A linear layer whose weight gradient sums up the bias's, over the parameters of another one."""

    def __init__(self, layer: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x: Tensor) -> Tensor:
        """(..., K) to (..., N)."""
        flat: Tensor = _Linear.apply(x.reshape(-1, x.shape[-1]), self.weight, self.bias)  # type: ignore[no-untyped-call]
        return flat.view(*x.shape[:-1], -1)


class FusedMLP(nn.Module):
    """An `MLP` over the same layers by the operators that are to be used."""

    def __init__(self, mlp: MLP, use: Collection[str]) -> None:
        super().__init__()
        self.c_fc, self.c_proj, self.dropout = mlp.c_fc, mlp.c_proj, mlp.dropout
        self.fused = tuple(place in use for place in _MLP)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        first, second = self.c_fc, self.c_proj
        flat: Tensor = _TwoLayers.apply(  # type: ignore[no-untyped-call]
            x.reshape(-1, x.shape[-1]), first.weight, first.bias, second.weight, second.bias, self.fused
        )
        out: Tensor = self.dropout(flat.view(x.shape))
        return out


def fuse(model: GPT2, use: Collection[str]) -> None:
    """Let the blocks of a model use the products of `PLACES` that are named; the parameters stay the same."""
    for block in model.blocks:
        if any(place in use for place in _MLP):
            block.mlp = FusedMLP(block.get_submodule("mlp"), use)  # type: ignore[arg-type]
        attention = block.get_submodule("attn")
        for place, name in (("attention-in", "c_attn"), ("attention-out", "c_proj")):
            if place in use:
                setattr(attention, name, SummingLinear(attention.get_submodule(name)))  # type: ignore[arg-type]
