"""FP8 linear layers with one scale per tensor: three 8-bit products where BF16 had three 16-bit ones.

Micikevicius et al. 2022, arXiv 2209.05433: weights and activations in E4M3, which has more precision, gradients in
E5M2, which has more range. A tensor is divided so that its largest magnitude becomes the format's largest; the product
is multiplied back. Scales are those of the tensor itself, found just before (dynamic scaling): nothing to tune, one
extra pass over memory, which the compiler joins with what came before.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from gpu_bench.measure.gpt2 import GPT2
from gpu_bench.measure.unsupported import UnsupportedError

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
OLDEST = (8, 9)
"""Compute capability with FP8 tensor cores: Ada, then Hopper."""
_MULTIPLE = 16
"""cuBLASLt takes matrices whose every side is a multiple of this."""


def convert_blocks(model: GPT2) -> None:
    """Make every linear layer inside the blocks a `Float8Linear` that owns the same parameters.

    The head stays in BF16: its result decides the loss.

    Raises:
        UnsupportedError, ValueError: As `linear_layers`.
    """
    for parent, name, layer in linear_layers(model):
        setattr(parent, name, Float8Linear(layer))


def linear_layers(model: GPT2) -> list[tuple[nn.Module, str, nn.Linear]]:
    """The linear layers inside the blocks: the module each belongs to, its name there, and the layer.

    Raises:
        UnsupportedError: On a GPU without FP8 tensor cores.
        ValueError: When a side of a weight is not a multiple of 16.
    """
    device = next(model.parameters()).device
    if device.type == "cuda" and torch.cuda.get_device_capability(device) < OLDEST:
        found = ".".join(str(part) for part in torch.cuda.get_device_capability(device))
        raise UnsupportedError(f"FP8 needs compute capability {OLDEST[0]}.{OLDEST[1]}; this GPU has {found}")
    layers = []
    for name, layer in list(model.blocks.named_modules()):
        if isinstance(layer, nn.Linear):
            if layer.in_features % _MULTIPLE or layer.out_features % _MULTIPLE:
                raise ValueError(
                    f"a weight of {layer.out_features} x {layer.in_features} cannot run in FP8; "
                    f"allowed: multiples of {_MULTIPLE}"
                )
            path, _, last = name.rpartition(".")
            layers.append((model.blocks.get_submodule(path), last, layer))
    return layers


class Float8Linear(nn.Module):
    """A linear layer whose three products run in FP8: output, input gradient, weight gradient."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) to (..., out) in BF16."""
        flat = x.reshape(-1, x.shape[-1])  # (M, K)
        y: Tensor = _Product.apply(flat, self.weight)  # type: ignore[no-untyped-call]  # (M, N)
        y = y.view(*x.shape[:-1], -1)
        return y if self.bias is None else y + self.bias.to(y.dtype)


def to_float8(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The tensor in FP8, and the FP32 scalar to multiply it by to have it back."""
    largest = torch.finfo(dtype).max
    scale = x.abs().amax().float().clamp_min(1e-12) / largest
    return (x.float() / scale).clamp(-largest, largest).to(dtype), scale


def _multiply(a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, out: torch.dtype, fast: bool) -> Tensor:
    """(M, K) by (K, N); tensor cores want `a` stored by rows and `b` by columns."""
    a, b = a.contiguous(), b.t().contiguous().t()
    return torch._scaled_mm(a, b, scale_a=a_scale, scale_b=b_scale, out_dtype=out, use_fast_accum=fast)


class _Product(torch.autograd.Function):
    """x W^T with FP8 operands, forward and backward. What it keeps of x takes 8 bits."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        """(M, K) and (N, K) to (M, N)."""
        x8, x_scale = to_float8(x, E4M3)
        w8, w_scale = to_float8(weight, E4M3)
        ctx.save_for_backward(x8, x_scale, w8, w_scale)
        ctx.formats = x.dtype, weight.dtype
        # Fast accumulation rounds partial sums: harmless forward, visible in gradients.
        return _multiply(x8, w8.t(), x_scale, w_scale, torch.bfloat16, fast=True)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """(M, N) to gradients of x (M, K) and of the weight (N, K)."""
        x8, x_scale, w8, w_scale = ctx.saved_tensors
        x_format, w_format = ctx.formats
        g8, g_scale = to_float8(gradient, E5M2)
        for_x = _multiply(g8, w8, g_scale, w_scale, torch.bfloat16, fast=False)
        for_w = _multiply(g8.t(), x8, g_scale, x_scale, torch.bfloat16, fast=False)
        return for_x.to(x_format), for_w.to(w_format)
