"""PyTorch's product of FP8 matrices, and the same product by FP32 arithmetic, which every processor does quickly."""

from __future__ import annotations

import torch
from torch import Tensor

pytorchs = torch._scaled_mm


def product(
    a: Tensor,
    b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: None = None,
    *,
    out_dtype: torch.dtype = torch.bfloat16,
    use_fast_accum: bool = False,
) -> Tensor:
    """(M, K) and (K, N) in FP8 to (M, N): as `torch._scaled_mm`, with exact products and sums of 24 bits."""
    y = (a.float() @ b.float()) * (scale_a * scale_b)
    return y.to(out_dtype) if bias is None else y.to(out_dtype) + bias
