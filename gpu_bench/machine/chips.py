"""The engine's name of a device, and its dense peaks. Nothing here imports PyTorch."""

from __future__ import annotations

from gpu_bench.cases.case import Precision
from gpu_bench.machine.provenance import slugify
from ironlaw.core.errors import EngineError
from ironlaw.hardware.accelerators import DRIVER_NAMES, Accelerator, accelerator


def chip_of(device_name: str | None) -> Accelerator | None:
    """What the engine knows of a device; None when it does not know exactly this one."""
    name = DRIVER_NAMES.get(device_name or "")
    return accelerator(name) if name else None


def nearly_known(device_name: str | None) -> str | None:
    """The name of a known chip that another spelling stands for in file names; None for a proper or an unknown name.

    By it a record would take the place of the chip's own, and none of the chip's limits would hold for it.
    """
    slug = slugify(device_name or "")
    return next((name for name in DRIVER_NAMES if name != device_name and slugify(name) == slug), None)


def compute_format(precision: Precision) -> str:
    """The format that the large matrix products run in."""
    return precision.removeprefix("amp-").partition("-")[0]


def format_peak(device_name: str | None, name: str) -> float | None:
    """Dense peak in FLOP/s of the data sheet for products in a format; None when unknown."""
    chip = chip_of(device_name)
    try:
        return chip.peak(name) if chip else None
    except EngineError:
        return None


BOOST = 1.2
"""How far the clock of a GeForce card may rise above the one that its data sheet counts with."""


def fastest_product(device_name: str | None, form: str) -> float | None:
    """FLOP/s that no product in a format can pass; None when unknown. GeForce cards run above their stated clock."""
    peak, chip = format_peak(device_name, form), chip_of(device_name)
    return peak * BOOST if peak is not None and chip is not None and chip.family == "geforce" else peak


def specified_peak(device_name: str | None, precision: Precision) -> float | None:
    """Dense peak in FLOP/s of the data sheet for the format that the matrix products run in; None when unknown."""
    return format_peak(device_name, compute_format(precision))
