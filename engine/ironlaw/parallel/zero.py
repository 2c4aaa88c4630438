"""ZeRO: bytes of model state per device, for stages 0 to 3, in the paper's own terms.

The paper counts mixed-precision Adam: 2 bytes of FP16 parameters, 2 of FP16 gradients, and K = 12 of FP32 master copy
and two moments. `ironlaw.memory.ledger` counts named tensors; these closed forms are here to check them, and to read.

Source: Rajbhandari, Rasley, Ruwase, He 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models",
arXiv 1910.02054, figure 1 and table 1.
"""

from __future__ import annotations

from ironlaw.config.layout import zero_stage
from ironlaw.core.arrays import require_at_least
from ironlaw.core.units import Count, Traffic

STATE_BYTES = (12, 2, 2)
"""Bytes per parameter in the order of the stages: the optimizer's (the paper's K), gradients, working weights."""


def state_bytes_per_parameter(stage: int, devices: Count) -> Traffic:
    """Bytes of model state per parameter and device: 16, `4 + 12/n`, `2 + 14/n` and `16/n` for stages 0 to 3.

    Args:
        stage: 0 (plain data parallelism) to 3.
        devices: Data-parallel devices over which states are partitioned (a NumPy array is allowed).

    Raises:
        EngineError: An unknown stage, or fewer than one device.
    """
    stage = zero_stage(stage)
    require_at_least("devices", devices, 1)
    return sum(share / devices if position < stage else share for position, share in enumerate(STATE_BYTES))
