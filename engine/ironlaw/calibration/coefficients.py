"""A prediction with experience: the fitted numbers of `coefficients.toml`, what they depend on, and a 90 % band."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

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


FILE = os.path.join(os.path.dirname(__file__), "coefficients.toml")  # noqa: PTH118, PTH120
"""Written by `python -m tools.accuracy.calibrate`, never by hand."""

KINDS = ("time", "allocated", "device memory")
"""What can be calibrated: seconds of a step, the allocator's peak, and what the driver shows."""

NEAR = 2.0
"""Runs with at most four times, and at least a quarter of, the devices are near: two doublings."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Published runs with the same features: how many, and the numbers of their sources."""

    family: str
    execution: str
    numbers: str
    software: str
    doublings: float
    runs: int
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """The model of one kind: ln(published / physics) is normal around `mean`, with `variance`.

    Attributes:
        terms: Name of each coefficient, e.g. `"level"`, `"doublings"` or `"family data-center"`.
        mean: Its expected value.
        covariance: Covariance matrix of the coefficients: how uncertain they are, alone and together.
        unseen: Variance that a category adds when no run with its value is known, by category.
        between: Variance between sources, as a normal with the same 90 % range.
        between_slope: Variance between sources per squared doubling of the nodes.
        within: Variance between runs of one source, as a normal with the same 90 % range.
        cells: The runs behind the fit.
    """

    terms: tuple[str, ...]
    mean: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    unseen: Mapping[str, float]
    between: float
    between_slope: float
    within: float
    cells: tuple[Cell, ...]

    def expect(self, features: Features) -> tuple[float, float]:
        """Mean and variance of ln(published / physics) for one run of a source that nobody has seen."""
        scale = doublings(features.devices)
        row: list[tuple[int, float]] = [(self.terms.index("level"), 1.0), (self.terms.index("doublings"), scale)]
        variance = self.between + self.between_slope * scale**2 + self.within
        for category, unseen in self.unseen.items():
            term = f"{category} {getattr(features, category)}"
            if term in self.terms:
                row.append((self.terms.index(term), 1.0))
            else:
                variance += unseen
        mean = sum(self.mean[i] * x for i, x in row)
        return mean, variance + sum(x * self.covariance[i][j] * z for i, x in row for j, z in row)

    def near(self, features: Features) -> tuple[int, int]:
        """How many published runs, of how many sources, have the same categories and about as many devices."""
        scale = doublings(features.devices)
        cells = [
            cell
            for cell in self.cells
            if abs(cell.doublings - scale) <= NEAR
            and all(getattr(cell, category) == getattr(features, category) for category in self.unseen)
        ]
        return sum(cell.runs for cell in cells), len({number for cell in cells for number in cell.sources})


def model_of(table: Mapping[str, Any]) -> Model:
    """A model from its table in the file, which has the lower half of the covariance."""
    lower, size = table["covariance"], range(len(table["terms"]))
    return Model(
        terms=tuple(table["terms"]),
        mean=tuple(table["mean"]),
        covariance=tuple(tuple(lower[max(i, j)][min(i, j)] for j in size) for i in size),
        unseen=dict(table["unseen"]),
        between=table["between"],
        between_slope=table["between_slope"],
        within=table["within"],
        cells=tuple(
            Cell(family, execution, numbers, software, place, runs, tuple(sources))
            for family, execution, numbers, software, place, runs, sources in table["cells"]
        ),
    )


@cache
def content() -> Mapping[str, Any]:
    """What the file holds."""
    import tomllib

    with open(FILE, "rb") as file:  # noqa: PTH123
        return tomllib.load(file)


@cache
def coefficients() -> Mapping[str, Model]:
    """The model of each kind."""
    return {kind: model_of(content()[kind]) for kind in KINDS}


NINETY = 1.6449
"""Half the width of the range that holds 90 % of a normal distribution, in standard deviations."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A physical prediction corrected by what published runs took.

    Attributes:
        expected: The value that half of such runs exceed, in the unit of the prediction.
        low: One run in twenty lies below.
        high: One run in twenty lies above.
        runs: Published runs with the same words in `Features`, and a quarter to four times the devices.
        sources: The number of sources that published them. Runs of one source share their error.
    """

    expected: float
    low: float
    high: float
    runs: int
    sources: int


def calibrate(kind: str, value: float, features: Features) -> Calibrated:
    """What to expect where physics says `value`.

    Args:
        kind: `"time"`, `"allocated"` (the allocator's peak) or `"device memory"` (what the driver shows).
        value: The physical prediction, in any unit; not negative.
        features: What is known about the run.

    Raises:
        ValueError: An unknown kind or a negative value.

    Source: `coefficients.toml`, fitted by `tools.accuracy.calibrate` to the rows of `tools/accuracy/data`.
    """
    if not (value.min() if hasattr(value, "min") else value) >= 0:
        raise ValueError(f"value is {value}, allowed: 0 or more")
    expected, low, high, runs, sources = _factors(kind, features)
    return Calibrated(value * expected, value * low, value * high, runs, sources)


@lru_cache(maxsize=4096)
def _factors(kind: str, features: Features) -> tuple[float, float, float, int, int]:
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r} is unknown, allowed: {', '.join(KINDS)}")
    model = coefficients()[kind]
    mean, variance = model.expect(features)
    half = NINETY * math.sqrt(variance)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half), *model.near(features)
