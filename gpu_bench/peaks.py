"""What the device could do at best: its data sheet's dense peak, and the matrix product it really reaches."""

from __future__ import annotations

import statistics
import time

import torch

from engine.accelerators import accelerator
from engine.errors import EngineError
from gpu_bench.cases import Precision

ENGINE_NAMES = {
    "NVIDIA A100-PCIE-40GB": "a100-40-pcie",
    "NVIDIA A100-SXM4-40GB": "a100-40",
    "NVIDIA A100 80GB PCIe": "a100-80-pcie",
    "NVIDIA A100-SXM4-80GB": "a100-80",
    "NVIDIA H100 80GB HBM3": "h100-sxm",
    "NVIDIA H100 PCIe": "h100-pcie",
    "NVIDIA H200": "h200",
    "NVIDIA B200": "b200",
    "NVIDIA GeForce RTX 4060": "rtx-4060",
    "NVIDIA GeForce RTX 4060 Laptop GPU": "rtx-4060-laptop",
    "NVIDIA GeForce RTX 4090": "rtx-4090",
    "NVIDIA GeForce RTX 5080": "rtx-5080",
    "NVIDIA GeForce RTX 5090": "rtx-5090",
    "Tesla V100-SXM2-16GB": "v100-16",
    "Tesla V100-SXM2-32GB": "v100-32",
}
"""Name that the driver gives -> name in the engine. Exact: variants share the words but not the peak."""
_COMPUTE_FORMAT: dict[Precision, str] = {
    "fp32": "fp32",
    "tf32": "tf32",
    "amp-bf16": "bf16",
    "amp-fp16": "fp16",
    "bf16": "bf16",
}


def specified_peak(device_name: str | None, precision: Precision) -> float | None:
    """Dense peak in FLOP/s of the data sheet for the format that the matrix products run in; None when unknown."""
    try:
        return accelerator(ENGINE_NAMES[device_name or ""]).peak(_COMPUTE_FORMAT[precision])
    except (KeyError, EngineError):
        return None


def matmul_ceiling(device: torch.device, precision: Precision) -> float:
    """FLOP/s of a large square matrix product in the case's format, the median of several: a peak that can be reached.

    On a CPU the matrix is 1,024 wide, on a GPU 8,192.
    """
    width, rounds = (8192, 20) if device.type == "cuda" else (1024, 9)
    formats = {"bf16": torch.bfloat16, "fp16": torch.float16}
    dtype = formats.get(_COMPUTE_FORMAT[precision], torch.float32)
    a = torch.randn(width, width, device=device, dtype=dtype)
    b = torch.randn(width, width, device=device, dtype=dtype)
    out = torch.empty_like(a)
    seconds: list[float] = []
    for _ in range(rounds):
        if device.type == "cuda":
            start = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            start.record()
            torch.matmul(a, b, out=out)
            end.record()
            end.synchronize()
            seconds.append(start.elapsed_time(end) / 1000)
        else:
            began = time.perf_counter()
            torch.matmul(a, b, out=out)
            seconds.append(time.perf_counter() - began)
    # The first third warms up clocks, caches and the library's choice of kernel.
    return 2 * width**3 / statistics.median(seconds[rounds // 3 :])
