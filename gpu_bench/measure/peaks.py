"""The matrix products that the device really reaches, in shapes of the model: ceilings that can be reached.

Each is measured in the same process as the steps, so in the same modes of accumulation, and many products run between
two looks at the clock: the host waits for none of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import torch

from gpu_bench.measure.stopwatch import timed_rounds
from gpu_bench.measure.techniques.fp8 import E4M3, OLDEST

Shape = tuple[int, int, int]
"""M, N, K of (M, K) times (K, N)."""
SQUARE = {"cuda": 8192, "cpu": 1024}
"""Sides of a large square product."""
_ROUNDS, _SAMPLE_S = {"cuda": 8, "cpu": 3}, {"cuda": 0.05, "cpu": 0.005}
"""A GPU is kept busy for half a second in each shape: less ends before the power limit lowers the clock."""
DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "fp8": E4M3}


def matmul_ceilings(device: torch.device, name: str, shapes: Sequence[Shape]) -> list[dict[str, Any]]:
    """FLOP/s of products in a format, one entry per shape, for FP8 one per shape and mode of accumulation.

    Operands are random, since zeros run faster. Whether FP32 products use TF32 is what the process has set. A GPU
    without FP8 products has none of them.
    """
    if name == "fp8" and device.type == "cuda" and torch.cuda.get_device_capability(device) < OLDEST:
        return []
    found = []
    for shape in shapes:
        for fast in (True, False) if name == "fp8" else (None,):
            call = multiplication(device, name, shape, fast=fast is not False)
            seconds = statistics.median(timed_rounds(call, device, _ROUNDS[device.type], _SAMPLE_S[device.type]))
            m, n, k = shape
            rate = 2 * m * n * k / seconds
            found.append({"format": name, "m": m, "n": n, "k": k, "fast_accumulation": fast, "flops_per_s": rate})
    return found


def multiplication(device: torch.device, name: str, shape: Shape, *, fast: bool = True) -> Callable[[], object]:
    """A product of random operands in a format, `b` by columns, as `x @ weight.T` has it; `fast` concerns FP8 only."""
    m, n, k = shape
    a = torch.randn(m, k, device=device).to(DTYPES[name])
    b = torch.randn(n, k, device=device).to(DTYPES[name]).t()  # (K, N)
    if name == "fp8":
        one = torch.ones((), device=device)
        return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast)
    out = torch.empty(m, n, dtype=a.dtype, device=device)
    return lambda: torch.matmul(a, b, out=out)
