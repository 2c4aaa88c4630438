"""What published runs took beyond the physics, for a setup: its expected value and the band around it."""

from __future__ import annotations

from engine.calibration import Features, gpu_family, number_group
from engine.config.setup import Setup


def features(c: Setup) -> Features:
    """What the calibration looks at of a setup."""
    return Features(
        family=gpu_family(c.chip.name),
        devices=c.devices,
        execution="fused" if c.framework.compiled else "eager",
        numbers=number_group(c.precision.name),
        software=c.framework.name if c.framework.runtime == "none" else c.framework.runtime,
    )
