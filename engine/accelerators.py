"""Accelerators: memory, bandwidth, dense peaks by number format and accumulator, power.

Peaks are dense: sparse figures, which assume that half of all weights are zero, have no place here. On NVIDIA GeForce
cards the rate depends on the accumulator: training accumulates 16-bit products in fp32, which runs at half the rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from engine.errors import EngineError
from engine.records import Source, read_record, record_names, take_sources
from engine.units import Bytes, BytesPerSecond, FlopsPerSecond, Watts


@dataclass(frozen=True, slots=True)
class Peak:
    """A dense peak: operand format `dtype`, accumulator format `accumulate`, and the rate."""

    dtype: str
    accumulate: str
    flops_per_second: FlopsPerSecond


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One chip or card.

    Attributes:
        name: Short name, e.g. `"h100-sxm"`.
        title: Name on the data sheet.
        memory_bytes: The data sheet's memory, in decimal bytes: 80 GB is 80e9.
        bandwidth: Peak rate of the device memory.
        peaks: Dense peaks.
        tdp: Thermal design power of the chip or card.
        sources: Where the figures come from.
    """

    name: str
    title: str
    memory_bytes: Bytes
    bandwidth: BytesPerSecond
    peaks: tuple[Peak, ...]
    tdp: Watts
    sources: tuple[Source, ...]

    def peak(self, dtype: str, accumulate: str = "fp32") -> FlopsPerSecond:
        """Dense peak for operands of `dtype` with the given accumulator.

        Raises `EngineError` when the chip has no such mode (a V100 has no bf16).
        """
        for entry in self.peaks:
            if (entry.dtype, entry.accumulate) == (dtype, accumulate):
                return entry.flops_per_second
        modes = ", ".join(f"{entry.dtype}/{entry.accumulate}" for entry in self.peaks)
        raise EngineError(f"{self.name} has no peak for {dtype!r} accumulated in {accumulate!r}; allowed: {modes}")


@cache
def accelerator(name: str) -> Accelerator:
    """The accelerator called `name`, e.g. `accelerator("h100-sxm")`. Raises `EngineError` for an unknown name."""
    record = read_record("accelerators", name)
    sources = take_sources(record, f"accelerators/{name}")
    peaks = tuple(Peak(p["dtype"], p["accumulate"], float(p["flops_per_second"])) for p in record.pop("peaks"))
    record["bandwidth"] = float(record.pop("bandwidth_bytes_per_second"))
    record["tdp"] = float(record.pop("tdp_watts"))
    return Accelerator(name=name, peaks=peaks, sources=sources, **record)


def list_accelerators() -> tuple[str, ...]:
    """Names of all accelerators that `accelerator` knows."""
    return record_names("accelerators")
