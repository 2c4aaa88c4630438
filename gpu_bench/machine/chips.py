"""The engine's name of a device, and its dense peaks. Nothing here imports PyTorch."""

from __future__ import annotations

from engine.core.errors import EngineError
from engine.hardware.accelerators import Accelerator, accelerator
from gpu_bench.cases.case import Precision

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
"""Name that the driver gives -> name in the engine. Names must match exactly: similar names have other peaks."""
_COMPUTE_FORMAT: dict[Precision, str] = {
    "fp32": "fp32",
    "tf32": "tf32",
    "amp-bf16": "bf16",
    "amp-fp16": "fp16",
    "bf16": "bf16",
    "fp16": "fp16",
    "bf16-master": "bf16",
    "bf16-rounded": "bf16",
    "fp8": "fp8",
    "fp8-master": "fp8",
}


def chip_of(device_name: str | None) -> Accelerator | None:
    """What the engine knows of a device; None when it does not know exactly this one."""
    name = ENGINE_NAMES.get(device_name or "")
    return accelerator(name) if name else None


def compute_format(precision: Precision) -> str:
    """The format that the large matrix products run in."""
    return _COMPUTE_FORMAT[precision]


def format_peak(device_name: str | None, name: str) -> float | None:
    """Dense peak in FLOP/s of the data sheet for products in a format; None when unknown."""
    chip = chip_of(device_name)
    try:
        return chip.peak(name) if chip else None
    except EngineError:
        return None


_BOOST = 1.2
"""How far the clock of a GeForce card may rise above the one that its data sheet counts with."""


def fastest_product(device_name: str | None, form: str) -> float | None:
    """FLOP/s that no product in a format can pass; None when unknown. GeForce cards run above their stated clock."""
    peak, chip = format_peak(device_name, form), chip_of(device_name)
    return peak * _BOOST if peak is not None and chip is not None and chip.family == "geforce" else peak


def specified_peak(device_name: str | None, precision: Precision) -> float | None:
    """Dense peak in FLOP/s of the data sheet for the format that the matrix products run in; None when unknown."""
    return format_peak(device_name, compute_format(precision))
