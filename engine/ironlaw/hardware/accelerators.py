"""Accelerators: memory, bandwidth, dense peaks by number format and accumulator, power.

Peaks are dense: sparse figures, which assume that half of all weights are zero, have no place here. On NVIDIA GeForce
cards the rate depends on the accumulator: training accumulates 16-bit products in fp32, which runs at half the rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from ironlaw.core.errors import EngineError
from ironlaw.core.records import Source, origin, read_record, record_names, take_sources
from ironlaw.core.units import Bytes, BytesPerSecond, Count, Dollars, FlopsPerSecond, Gigabytes, Ratio, Watts
from ironlaw.hardware.links import Measured, measured

DRIVER_RESERVE: Bytes = 512 * 2**20
"""Bytes of a GPU's memory that the driver keeps and no program can allocate; an assumption between what is reported.

An A100 leaves CUDA 40,339 of its 40,960 MiB (https://github.com/bottlerocket-os/bottlerocket/pull/3873), a B200 178.35
of 179.06 GiB (https://github.com/pytorch/ao/pull/4002), a GeForce card under Windows everything.
"""


STREAM_EFFICIENCY: Ratio = 0.87
"""Share of the memory's peak rate that a long, regular stream reaches where none is published for the chip.

The mean of what is: A100 80 GB 0.83, H100 0.89, H200 0.86, B200 0.82, RTX 5090 0.88, RTX 4090 0.91 (the records'
`stream`).
"""


ASSUMABLE = ("memory", "bandwidth", "peaks", "power")
"""What a record can say of itself that it is assumed."""


@dataclass(frozen=True, slots=True)
class Peak:
    """A dense peak: operand format `dtype`, accumulator format `accumulate`, and the rate."""

    dtype: str
    accumulate: str
    flops_per_second: FlopsPerSecond


@dataclass(frozen=True, slots=True)
class Product:
    """A published matrix product: `shape` is `MxNxK`, operands are `dtype`."""

    dtype: str
    flops_per_second: FlopsPerSecond
    shape: str
    source: Source

    @property
    def sizes(self) -> tuple[Count, Count, Count]:
        """Rows and columns of the result, and the depth of the sum."""
        m, n, k = (int(size) for size in self.shape.split("x"))
        return m, n, k


@dataclass(frozen=True, slots=True)
class AttentionCeiling:
    """The fastest fused attention published for the chip, 16 bit, head size 128, for each pass by itself.

    `generation` names the kernels: `"flash-2"`, `"flash-3"` or `"flash-4"`.
    """

    generation: str
    forward: FlopsPerSecond
    backward: FlopsPerSecond
    source: Source


@dataclass(frozen=True, slots=True)
class Price:
    """What a card costs, per hour when rented or once when bought, and who asked for that price, and when."""

    dollars: Dollars
    source: Source


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One chip or card.

    Attributes:
        name: Short name, e.g. `"h100-sxm"`.
        title: Name on the data sheet.
        memory_bytes: All memory as the driver reports it: an H100 sold with 80 GB has 81,559 MiB, 85.5e9 bytes.
        nominal_gb: The number on the box, for display. On GPUs it is neither decimal nor binary.
        bandwidth: Peak rate of the device memory.
        peaks: Dense peaks.
        tdp: Thermal design power of the chip or card.
        sources: Where the figures come from.
        memory_source: Who saw the driver's total, or None where the data sheet is exact.
        family: `"data-center"` or `"geforce"`: GPUs that share what limits a kernel; empty for other chips.
        multiprocessors: Streaming multiprocessors, which share out the tiles of a matrix product; 0 for other chips.
        links: Names of the links it has (`ironlaw.hardware.links`), fastest first; none for a chip that works alone.
        ceilings: The fastest products that anyone has published, at most one per number format. A GeForce card's clock
            rises above the nominal one that its peaks are given at, so its products may be faster than the peak.
        sustained: Large products of random data at the power limit, at most one per number format: what a chip keeps
            up. Zeros and small integers flip fewer transistors than real data, and a short product ends before the
            power limit lowers the clock; either can make one 5 to 15 % faster than it is in training. Source: H. He
            2024, thonking.ai, "Strangely, matrix multiplications run faster when given predictable data".
        attentions: Measured fused attention, one entry per generation of kernels, the usual one first.
        stream: A long stream from and to the memory, read and written bytes both counted, or None.
        rent: Dollars per hour, or None when no price is on record.
        purchase: Dollars, or None when no price is on record.
        assumed: Which of `ASSUMABLE` nobody publishes, so that the record assumes them.
    """

    name: str
    title: str
    memory_bytes: Bytes
    nominal_gb: Gigabytes
    bandwidth: BytesPerSecond
    peaks: tuple[Peak, ...]
    tdp: Watts
    sources: tuple[Source, ...]
    memory_source: Source | None = None
    family: str = ""
    multiprocessors: Count = 0
    links: tuple[str, ...] = ()
    ceilings: tuple[Product, ...] = ()
    sustained: tuple[Product, ...] = ()
    attentions: tuple[AttentionCeiling, ...] = ()
    stream: Measured | None = None
    rent: Price | None = None
    purchase: Price | None = None
    assumed: tuple[str, ...] = ()

    @property
    def usable_bytes(self) -> Bytes:
        """Memory that programs can allocate: all of it, less what the driver of an NVIDIA GPU keeps."""
        return self.memory_bytes - (DRIVER_RESERVE if self.multiprocessors else 0)

    @property
    def streaming(self) -> BytesPerSecond:
        """Bytes per second of long streams: measured if published, else a typical share of the peak bandwidth."""
        return self.stream.bandwidth if self.stream else STREAM_EFFICIENCY * self.bandwidth

    @property
    def short_format(self) -> str | None:
        """The 16-bit format of its products, bf16 if it has both, None if it has neither."""
        formats = {peak.dtype for peak in self.peaks}
        return next((name for name in ("bf16", "fp16") if name in formats), None)

    @property
    def attention(self) -> AttentionCeiling | None:
        """Fused attention of the usual generation of kernels, or None when none is published."""
        return self.attentions[0] if self.attentions else None

    def fused_attention(self, generation: str) -> AttentionCeiling | None:
        """Fused attention of a generation of kernels (`"flash-3"`), or None when it is not published for the chip."""
        return next((entry for entry in self.attentions if entry.generation == generation), None)

    def peak(self, dtype: str, accumulate: str = "fp32") -> FlopsPerSecond:
        """Dense peak for operands of `dtype` with the given accumulator. All 8-bit floats run at the rate of `"fp8"`.

        Raises `EngineError` when the chip has no such mode (a V100 has no bf16).
        """
        dtype = product_format(dtype)
        for entry in self.peaks:
            if (entry.dtype, entry.accumulate) == (dtype, accumulate):
                return entry.flops_per_second
        modes = tuple(f"{entry.dtype} with {entry.accumulate}" for entry in self.peaks)
        raise EngineError("dtype", dtype, modes, {"accumulate": accumulate, "accelerator": self.name})

    def ceiling(self, dtype: str) -> Product | None:
        """The measured matrix-product ceiling for operands of `dtype`, or None when none is published."""
        dtype = product_format(dtype)
        return next((entry for entry in self.ceilings if entry.dtype == dtype), None)


def product_format(dtype: str) -> str:
    """The name under which the rate of products of `dtype` is on record: `"fp8"` for both 8-bit floats."""
    return "fp8" if dtype.startswith("fp8-") else dtype


@cache
def accelerator(name: str) -> Accelerator:
    """The accelerator called `name`, e.g. `accelerator("h100-sxm")`. Raises `EngineError` for an unknown name."""
    record = read_record("accelerators", name)
    sources = take_sources(record, f"accelerators/{name}")
    peaks = tuple(Peak(p["dtype"], p["accumulate"], float(p["flops_per_second"])) for p in record.pop("peaks"))
    record["memory_source"] = origin(record.pop("memory")) if "memory" in record else None
    record["bandwidth"] = float(record.pop("bandwidth_bytes_per_second"))
    record["tdp"] = float(record.pop("tdp_watts"))
    for names in ("links", "assumed"):
        record[names] = tuple(record.get(names, ()))
    for table in ("ceilings", "sustained"):
        record[table] = tuple(map(_product, record.get(table, ())))
    record["attentions"] = tuple(map(_attention, record.pop("attention", ())))
    record["stream"] = measured(record.get("stream"))
    for deal in ("rent", "purchase"):
        if deal in record:
            record[deal] = Price(float(record[deal]["dollars"]), origin(record[deal]))
    return Accelerator(name=name, peaks=peaks, sources=sources, **record)


def _product(entry: dict[str, Any]) -> Product:
    return Product(entry["dtype"], float(entry["flops_per_second"]), entry["shape"], origin(entry))


def _attention(entry: dict[str, Any]) -> AttentionCeiling:
    return AttentionCeiling(entry["generation"], float(entry["forward"]), float(entry["backward"]), origin(entry))


def list_accelerators() -> tuple[str, ...]:
    """Names of all accelerators that `accelerator` knows."""
    return record_names("accelerators")


DRIVER_NAMES = {
    "NVIDIA A10G": "a10g",
    "NVIDIA A100-PCIE-40GB": "a100-40-pcie",
    "NVIDIA A100-SXM4-40GB": "a100-40",
    "NVIDIA A100 80GB PCIe": "a100-80-pcie",
    "NVIDIA A100-SXM4-80GB": "a100-80",
    "NVIDIA A800-SXM4-80GB": "a800-80",
    "NVIDIA H20": "h20",
    "NVIDIA H100 80GB HBM3": "h100-sxm",
    "NVIDIA H100 NVL": "h100-nvl",
    "NVIDIA H100 PCIe": "h100-pcie",
    "NVIDIA H200": "h200",
    "NVIDIA B200": "b200",
    "NVIDIA L4": "l4",
    "NVIDIA L40S": "l40s",
    "NVIDIA RTX A6000": "rtx-a6000",
    "NVIDIA GeForce RTX 3090": "rtx-3090",
    "NVIDIA GeForce RTX 4060": "rtx-4060",
    "NVIDIA GeForce RTX 4060 Laptop GPU": "rtx-4060-laptop",
    "NVIDIA GeForce RTX 4080": "rtx-4080",
    "NVIDIA GeForce RTX 4090": "rtx-4090",
    "NVIDIA GeForce RTX 5070 Ti": "rtx-5070ti",
    "NVIDIA GeForce RTX 5080": "rtx-5080",
    "NVIDIA GeForce RTX 5090": "rtx-5090",
    "Tesla T4": "t4",
    "Tesla V100-SXM2-16GB": "v100-16",
    "Tesla V100-SXM2-32GB": "v100-32",
}
"""Name that the driver gives -> name in the engine. Names must match exactly: similar names have other peaks."""


def by_driver(title: str) -> str | None:
    """The engine's name of a device; None when it does not know exactly this one.

    `nvidia-smi` cuts a long name and ends it with dots: then the one name that begins so counts.
    """
    found = begun(title)
    return DRIVER_NAMES[found[0]] if len(found) == 1 else None


def begun(title: str) -> list[str]:
    """The names that a title may be."""
    title = title.strip()
    cut = title.rstrip(".… ")
    whole = not title.endswith(("...", "…"))
    return [name for name in DRIVER_NAMES if (name == title if whole else name.startswith(cut) and name != cut)]
