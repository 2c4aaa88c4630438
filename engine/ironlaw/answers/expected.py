"""What published runs took beyond the physics, for a setup: expected values and the bands around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ironlaw.calibration import Calibrated, Features, calibrate, gpu_family, number_group

if TYPE_CHECKING:
    from ironlaw.config.resolved import Setup


@dataclass(frozen=True, slots=True)
class Expected:
    """The figures of an estimate that experience corrects. Bytes and FLOPs of named tensors need none.

    Attributes:
        step_s: Seconds of a step.
        tokens_per_s: Tokens per second of all devices together; low where steps are long.
        allocated_peak: Bytes of the allocator's peak.
        needed: Bytes that the busiest device must have: the allocator's peak, and what lies outside it. Runs out of
            memory are decided by these, since the allocator gives back what it keeps and does not use before it fails.
        device_total: Bytes that the driver shows on the busiest device, with what the allocator keeps.
    """

    step_s: Calibrated
    tokens_per_s: Calibrated
    allocated_peak: Calibrated
    needed: Calibrated
    device_total: Calibrated

    @property
    def reserved(self) -> Calibrated:
        """Bytes that the allocator keeps: no less than it has allocated, and no more than the driver shows."""
        least, most = self.allocated_peak, self.device_total
        middle = max(most.expected - (self.needed.expected - least.expected), least.expected)
        return Calibrated(middle, least.low, most.high, most.runs, most.sources)


def features(c: Setup) -> Features:
    """The facts about a setup that the calibration uses."""
    return Features(
        family=gpu_family(c.chip.name),
        devices=c.devices,
        execution=c.framework.execution,
        numbers=number_group(c.precision.name),
        software=c.framework.name if c.framework.runtime == "none" else c.framework.runtime,
    )


def expected(about: Features, step_s: float, tokens: float, allocated_peak: float, device_total: float) -> Expected:
    """Expected values and bands of an estimate.

    Args:
        about: The facts about the run that the calibration uses.
        step_s: Seconds of a step by the physics.
        tokens: Tokens of a step.
        allocated_peak: Bytes of the allocator's peak by the count.
        device_total: Bytes of the driver's view by the count.
    """
    time, allocated = calibrate("time", step_s, about), calibrate("allocated", allocated_peak, about)
    outside = device_total - allocated_peak
    needed = Calibrated(
        allocated.expected + outside,
        allocated.low + outside,
        allocated.high + outside,
        allocated.runs,
        allocated.sources,
    )
    rate = Calibrated(tokens / time.expected, tokens / time.high, tokens / time.low, time.runs, time.sources)
    return Expected(time, rate, allocated, needed, calibrate("device memory", device_total, about))
