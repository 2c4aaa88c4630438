"""The roofline: arithmetic intensity, ridge points, and which of the two roofs an operation hits.

Source: Williams, Waterman, Patterson 2009, "Roofline: An Insightful Visual Performance Model", CACM 52(4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ironlaw.config.checks import require_timed
from ironlaw.config.resolved import Setup, require_no_arrays, stage_sections
from ironlaw.config.setup import as_setup
from ironlaw.core.arrays import maximum, minimum, require_above_zero, require_at_least, require_each
from ironlaw.core.units import Bytes, BytesPerSecond, Count, Flops, FlopsPerByte, FlopsPerSecond, Seconds, Traffic
from ironlaw.graph.kernels import Kernel, Phase
from ironlaw.hardware.accelerators import Accelerator
from ironlaw.models.transformer import Transformer
from ironlaw.time.phases import phase_kernels


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """One operation on the roofline.

    Attributes:
        name: The kernel's name.
        phase: When it runs.
        flops: Arithmetic of one launch.
        bytes: Traffic of one launch.
        count: Launches per micro-batch.
        ridge: The chip's ridge point for the operation's format.
    """

    name: str
    phase: Phase
    flops: Flops
    bytes: Bytes
    count: Count
    ridge: FlopsPerByte

    @property
    def intensity(self) -> FlopsPerByte:
        """FLOPs per byte moved."""
        return self.flops / self.bytes

    @property
    def bound(self) -> Literal["compute", "memory"]:
        """Which roof the operation hits (scalars only)."""
        return "compute" if self.intensity >= self.ridge else "memory"


def intensity(flops: Flops, moved: Traffic) -> FlopsPerByte:
    """Arithmetic intensity: FLOPs per byte moved."""
    require_above_zero("bytes moved", moved)
    return flops / moved


def ridge_point(peak: FlopsPerSecond, bandwidth: BytesPerSecond) -> FlopsPerByte:
    """Intensity at which memory and arithmetic take equally long."""
    require_above_zero("peak", peak)
    require_above_zero("bandwidth", bandwidth)
    return peak / bandwidth


def attainable(flops_per_byte: FlopsPerByte, peak: FlopsPerSecond, bandwidth: BytesPerSecond) -> FlopsPerSecond:
    """FLOPs per second under the roof: `min(peak, intensity * bandwidth)`. Takes NumPy arrays."""
    require_at_least("intensity", flops_per_byte, 0)
    return minimum(peak, flops_per_byte * bandwidth)


def least_seconds(flops: Flops, moved: Traffic, peak: FlopsPerSecond, bandwidth: BytesPerSecond) -> Seconds:
    """The time no implementation can beat: `max(FLOPs / peak, bytes / bandwidth)`. Takes NumPy arrays."""
    return maximum(flops / peak, moved / bandwidth)


def matmul_intensity(m: Count, n: Count, k: Count, element_bytes: Bytes = 2) -> FlopsPerByte:
    """Intensity of an (m, k) by (k, n) product that reads both factors and writes the result once.

    `2 m n k / (b (m k + k n + m n))`; n/3 FLOPs per byte for square 16-bit matrices.
    """
    require_each(1, {"m": m, "n": n, "k": k})
    return 2 * m * n * k / (element_bytes * (m * k + k * n + m * n))


def step_points(
    asked: Setup | str | Transformer | None = None, *words: Any, **choices: Any
) -> tuple[RooflinePoint, ...]:
    """Every kernel of a forward and backward pass of the whole model as a point on the chip's roofline.

    Args:
        asked: A `Setup`, or the model of one.
        words: Further words of `ironlaw.setup`.
        choices: Further ones by name.

    Raises:
        EngineError: As `ironlaw.setup`.
    """
    c = as_setup(asked, *words, **choices).whole
    require_no_arrays(c)
    require_timed(c.chip)
    phases = phase_kernels(c, stage_sections(c, c.stages[0]))
    kernels = (*phases["forward"], *phases["backward"])
    return tuple(_point(kernel, c.chip, c.batch, c.sequence) for kernel in kernels)


def _point(kernel: Kernel, chip: Accelerator, batch: Count, sequence: Count) -> RooflinePoint:
    peak = chip.peak(kernel.dtype.name if kernel.dtype else "fp32")
    return RooflinePoint(
        kernel.name,
        kernel.phase,
        kernel.flops(batch, sequence),
        kernel.bytes(batch, sequence),
        kernel.count,
        ridge_point(peak, chip.bandwidth),
    )
