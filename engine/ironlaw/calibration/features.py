"""The handful of facts about a run that experience depends on."""

from __future__ import annotations

import math
from dataclasses import dataclass

DEVICES_PER_NODE = 8
"""Up to here a run counts as one node: most published machines have eight devices in a box."""

_DATA_CENTER = (
    "a10",
    "a30",
    "a40",
    "a80",
    "b20",
    "b30",
    "gb20",
    "gb30",
    "gh20",
    "h10",
    "h20",
    "h80",
    "l4",
    "t4",
    "v100",
)
"""How names of NVIDIA's data-center GPUs begin: a10 stands for A10 and A100, h20 for H20 and H200."""


@dataclass(frozen=True, slots=True)
class Features:
    """What the calibration knows about a run.

    Attributes:
        family: Family of the accelerator, see `gpu_family`; any other word is a family that no run is known of.
        devices: Number of devices of the whole run, at least 1.
        execution: `"eager"`, an operation after the other, or `"compiled"`, joined by a compiler or by hand.
        numbers: Format of the large matrix products, see `number_group`.
        software: `"megatron"`, `"deepspeed"` (Megatron with DeepSpeed's pipeline and optimizer), or `"torch"` for all
            other code.
    """

    family: str
    devices: int = 1
    execution: str = "eager"
    numbers: str = "16-bit"
    software: str = "torch"

    def __post_init__(self) -> None:
        if self.devices < 1:
            raise ValueError(f"devices is {self.devices}, allowed: 1 or more")


def gpu_family(name: str) -> str:
    """The family of the accelerator called `name`: `"data-center"`, `"geforce"`, or the name itself for all others.

    GeForce cards are apart because they have half the rate with FP32 accumulation, other power limits, and no NVLink.
    """
    chip, _, rest = name.partition("-")
    if chip in ("rtx", "gtx") and rest[:1].isdigit():
        return "geforce"
    return "data-center" if chip.startswith(_DATA_CENTER) else name


def number_group(precision: str) -> str:
    """Format of the large matrix products in a precision's name: `"fp8"`, `"fp32"` or `"16-bit"`."""
    if "fp8" in precision:
        return "fp8"
    return "fp32" if precision in ("fp32", "tf32") else "16-bit"


def doublings(devices: int) -> float:
    """How often one node of eight has to be doubled to have that many devices; 0 for a node or less."""
    return math.log2(max(devices, DEVICES_PER_NODE) / DEVICES_PER_NODE)
