"""The kernels of a micro-batch, phase by phase: what runs forward, backward, and again."""

from __future__ import annotations

from dataclasses import replace

from engine.config.setup import Setup
from engine.graph.ir import Section
from engine.graph.kernels import Kernel, Phase, backward_kernels, forward_kernels, recompute_kernels
from engine.graph.operations import recomputation
from engine.time.fp8 import in_fp8, lowered


def phase_kernels(c: Setup, parts: tuple[Section, ...]) -> dict[Phase, list[Kernel]]:
    """The kernels of a micro-batch by phase.

    Args:
        c: The setup.
        parts: Sections of the forward pass, from `engine.config.setup.stage_sections`.
    """
    compiled, by_hand = c.framework.compiled, c.framework.by_hand
    phases: dict[Phase, list[Kernel]] = {
        "forward": [k for part in parts for k in forward_kernels(part, fused=compiled, by_hand=by_hand)],
        "backward": [k for part in reversed(parts) for k in backward_kernels(part, fused=compiled, by_hand=by_hand)],
        "recompute": [
            kernel
            for part in parts
            for ops, count in recomputation(part, c.checkpointing)
            for kernel in recompute_kernels(part, ops, fused=compiled, by_hand=by_hand, count=count)
        ],
    }
    if in_fp8(c):
        phases = lowered(c, parts, phases)
    if c.framework.accumulation == "fused":
        phases["backward"] = [_accumulating(c, kernel) for kernel in phases["backward"]]
    return phases


def _accumulating(c: Setup, kernel: Kernel) -> Kernel:
    """A weight's gradient that its product adds to the sum: the sum is read and written where a result was written."""
    if kernel.product is None or not kernel.name.endswith(".weight_gradient"):
        return kernel
    p = kernel.product
    written, summed = c.precision.compute.bits // 8, 2 * c.precision.gradients.bits // 8
    return replace(kernel, bytes=kernel.bytes + p.count * p.m * p.n * (summed - written))
