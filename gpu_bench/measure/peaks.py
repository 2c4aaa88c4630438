"""The matrix product that the device really reaches: a peak that can be reached, measured in the same run."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import torch

from gpu_bench.measure.stopwatch import Stopwatch
from gpu_bench.measure.techniques.fp8 import E4M3, OLDEST

_WIDTH = {"cuda": 8192, "cpu": 1024}
_FEWEST = {"cuda": 20, "cpu": 9}
_SHORTEST_S = {"cuda": 1.0, "cpu": 0.0}
"""A GPU is kept busy this long: a shorter product ends before the power limit lowers the clock."""
_DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def matmul_ceiling(device: torch.device, name: str) -> float | None:
    """FLOP/s of a large square matrix product in a format, the median of several; None where there is no such product.

    On a CPU the matrix is 1,024 wide, on a GPU 8,192; its numbers are random, since zeros run faster. Whether FP32
    products use TF32 is what the process has set.
    """
    if name == "fp8" and device.type == "cuda" and torch.cuda.get_device_capability(device) < OLDEST:
        return None
    width, kind = _WIDTH[device.type], device.type
    multiply = _multiplication(device, name, width)
    seconds: list[float] = []
    while len(seconds) < _FEWEST[kind] or sum(seconds) < _SHORTEST_S[kind]:
        seconds.append(_timed(multiply, device))
    # The first third warms up clocks, caches and the library's choice of kernel.
    return 2 * width**3 / statistics.median(seconds[len(seconds) // 3 :])


def _multiplication(device: torch.device, name: str, width: int) -> Callable[[], object]:
    a, b = (torch.randn(width, width, device=device) for _ in range(2))
    if name == "fp8":
        one = torch.ones((), device=device)
        a8, b8 = a.to(E4M3), b.to(E4M3).t()
        return lambda: torch._scaled_mm(a8, b8, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)
    a, b = a.to(_DTYPES[name]), b.to(_DTYPES[name])
    out = torch.empty_like(a)
    return lambda: torch.matmul(a, b, out=out)


def _timed(multiply: Callable[[], object], device: torch.device) -> float:
    watch = Stopwatch(device)
    watch.mark()
    multiply()
    watch.mark()
    return watch.seconds()[0]
