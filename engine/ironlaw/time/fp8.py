"""FP8: the blocks' linear layers multiply in 8 bits, and pay for it with casts, maxima and transposed copies.

All three products of a linear layer run in FP8: forward, input gradient, weight gradient. Attention's own products, the
head, the embedding and everything between products keep 16 bits. FP8 units want both factors along the sum, so an input
and a gradient are kept twice, once transposed. Two ways to scale:

- delayed (Megatron-LM with Transformer Engine): the scale comes from earlier steps; the maximum is taken on the way.
  Weights are cast once a step.
- dynamic (PyTorch with torchao): the scale is that of the tensor at hand, so its maximum takes a pass over it first.
  Weights are cast in every micro-batch, FP32 weights without a 16-bit copy between.

Sources: Micikevicius et al. 2022, arXiv 2209.05433; NVIDIA Transformer Engine, documentation, "Using FP8 with
Transformer Engine"; pytorch/ao, `torchao/float8/README.md`.
"""

from __future__ import annotations

from dataclasses import replace

from ironlaw.config.layout import Stage
from ironlaw.config.resolved import Setup
from ironlaw.core.sizes import NOTHING, Size, as_size
from ironlaw.core.units import Bytes
from ironlaw.graph.ir import Op, Section
from ironlaw.graph.kernels import Kernel, Phase
from ironlaw.memory.static import stage_parameters

RESULT_BYTES: Bytes = 2
"""Bytes of an element that an FP8 product writes: results are 16 bits."""
COPIES = 2
"""Copies of an operand in 8 bits, a byte an element each: as it is, and transposed."""


def lowered(c: Setup, parts: tuple[Section, ...], phases: dict[Phase, list[Kernel]]) -> dict[Phase, list[Kernel]]:
    """Kernels by phase with the blocks' linear layers in FP8, and the casts that this takes.

    Args:
        c: The setup.
        parts: The sections that the kernels come from.
        phases: Kernels by phase.
    """
    linear = {op.name: op for part in parts if part.name == "block" for op in part.ops if _linear(op)}
    return {phase: [made for kernel in run for made in _lower(c, kernel, linear)] for phase, run in phases.items()}


def weight_cast_bytes(c: Setup, stage: Stage) -> Bytes:
    """Bytes per step that casting a stage's weights once moves, where scaling is delayed."""
    if not c.precision.in_fp8 or not c.framework.by_hand:
        return 0
    matrices = sum(p.elements * p.count for p in stage_parameters(stage) if p.role == "matrix" and p.count > 1)
    return (c.precision.weights.bits // 8 + COPIES) * matrices


def _linear(op: Op) -> bool:
    return op.kind == "matmul" and op.weights != 0


def _lower(c: Setup, kernel: Kernel, linear: dict[str, Op]) -> list[Kernel]:
    name, _, what = kernel.name.rpartition(".")
    op = linear.get(kernel.name) or (linear.get(name) if what in ("input_gradient", "weight_gradient") else None)
    if op is None or kernel.product is None:
        return [kernel]
    p = kernel.product
    moved = p.count * (p.m * p.k + p.k * p.n + p.m * p.n * RESULT_BYTES)
    product = replace(kernel, dtype=c.precision.products, bytes=moved)
    if kernel.name == op.name:
        casts = [_cast(c, kernel, f"{op.name}.input_fp8", op.inputs[0].size)]
        if not c.framework.by_hand:
            casts.append(_weight_cast(c, kernel, f"{op.name}.weight_fp8", p.n * p.k))
        return [*casts, product]
    if what == "input_gradient":
        return [_cast(c, kernel, f"{op.name}.gradient_fp8", op.outputs[0].size), product]
    if c.precision.autocast:
        moved = p.m * p.n * (RESULT_BYTES + c.precision.gradients.bits // 8)
        return [product, _memory(kernel, f"{op.name}.gradient_cast", moved)]
    return [product]


def _cast(c: Setup, kernel: Kernel, name: str, elements: Size) -> Kernel:
    """A tensor written in 8 bits, as it is and transposed; fused code holds it already, eager code reads it first."""
    read = 0 if c.framework.compiled else c.precision.compute.bits // 8
    maximum = 0 if c.framework.by_hand else c.precision.compute.bits // 8
    return _memory(kernel, name, elements * (read + maximum + COPIES))


def _weight_cast(c: Setup, kernel: Kernel, name: str, elements: Size) -> Kernel:
    """A weight written in 8 bits, read once for its maximum and once for its values: no kernel holds it already."""
    return _memory(kernel, name, elements * (2 * (c.precision.weights.bits // 8) + COPIES))


def _memory(kernel: Kernel, name: str, moved: Size) -> Kernel:
    return Kernel(name, kernel.phase, "memory", NOTHING, as_size(moved), count=kernel.count)
