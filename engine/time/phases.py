"""The kernels of a micro-batch, phase by phase: what runs forward, backward, and again."""

from __future__ import annotations

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
    return lowered(c, parts, phases) if in_fp8(c) else phases
