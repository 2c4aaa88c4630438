"""Pipeline parallelism: the bubble, and what crosses a stage boundary.

Symbols as in Narayanan et al. 2021 (Megatron-LM, arXiv 2104.04473, section 2.2): p stages, m micro-batches per step,
v model chunks per device. GPipe: Huang et al. 2019, arXiv 1811.06965. 1F1B: Narayanan et al. 2019, PipeDream, arXiv
1806.03377. What is in flight: `ironlaw.config.layout.stages`.
"""

from __future__ import annotations

from ironlaw.core.arrays import minimum, require_each
from ironlaw.core.units import Bytes, Count, Ratio, Traffic


def bubble_overhead(stages: Count, micro_batches: Count, interleave: Count = 1) -> Ratio:
    """Idle time over ideal compute time: `(p-1) / (v m)`.

    This is how much longer the step takes, not the share of the step that is idle: see `bubble_fraction`.
    """
    _check(stages, micro_batches, interleave)
    return (stages - 1) / (interleave * micro_batches)


def bubble_fraction(stages: Count, micro_batches: Count, interleave: Count = 1) -> Ratio:
    """Share of the step in which a device idles: `(p-1) / (v m + p - 1)`.

    Equal to overhead / (1 + overhead). GPipe's "18.75 %" for 4 stages and 16 micro-batches is the overhead, 3/16; the
    idle share is 3/19 = 15.8 %.
    """
    _check(stages, micro_batches, interleave)
    return (stages - 1) / (interleave * micro_batches + stages - 1)


def boundary_bytes(micro_batch: Count, sequence: Count, hidden: Count, element_bytes: Bytes) -> Traffic:
    """Bytes one stage sends to the next per micro-batch and direction: `b s h` elements of the residual stream."""
    require_each(1, {"micro-batch": micro_batch, "sequence": sequence, "hidden size": hidden})
    return micro_batch * sequence * hidden * element_bytes


def boundary_crossings(stages: Count, micro_batches: Count, interleave: Count = 1) -> Ratio:
    """Sends one device makes per step, forward and backward together: `2 m v`, or none with a single stage.

    Interleaving divides the bubble by v and multiplies this by v.
    """
    _check(stages, micro_batches, interleave)
    return minimum(stages - 1, 1) * 2 * micro_batches * interleave


def _check(stages: Count, micro_batches: Count, interleave: Count) -> None:
    require_each(1, {"pipeline stages": stages, "micro-batches": micro_batches, "interleave": interleave})
