"""The kernels of a micro-batch, phase by phase: what runs forward, backward, and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from ironlaw.config.layout import Stage
from ironlaw.config.resolved import Setup
from ironlaw.core.sizes import NOTHING, TOKENS, as_size
from ironlaw.graph.ir import Section
from ironlaw.graph.kernels import Kernel, Phase, backward_kernels, forward_kernels
from ironlaw.graph.operations import recomputation
from ironlaw.memory.linear_loss import sums_in_products
from ironlaw.memory.static import trained_parameters
from ironlaw.numerics.dtypes import FP32
from ironlaw.time.fp8 import lowered

Phases = dict[Phase, list[Kernel]]
"""Kernels by phase."""


def phase_kernels(c: Setup, parts: tuple[Section, ...]) -> Phases:
    """The kernels of a micro-batch by phase.

    Args:
        c: The setup.
        parts: Sections of the forward pass, from `ironlaw.config.resolved.stage_sections`.
    """
    forward = partial(_kept, forward_kernels, fused=c.framework.compiled, by_hand=c.framework.by_hand)
    backward = partial(_kept, backward_kernels, fused=c.framework.compiled, by_hand=c.framework.by_hand)
    again = [replace(part, ops=ops, count=n) for part in parts for ops, n in recomputation(part, c.checkpointing)]
    phases: Phases = {
        "forward": [kernel for part in parts for kernel in forward(part)],
        "backward": [kernel for part in reversed(parts) for kernel in backward(part)],
        "recompute": [kernel for part in again for kernel in forward(part, phase="recompute")],
    }
    if c.precision.in_fp8:
        phases = lowered(c, parts, phases)
    if c.framework.accumulation == "fused":
        phases["backward"] = [_accumulating(c, kernel) for kernel in phases["backward"]]
    return phases


@lru_cache(maxsize=1024)
def _kept(made_by: Callable[..., Iterator[Kernel]], part: Section, **how: Any) -> tuple[Kernel, ...]:
    """Kernels of a section, the very same for sections that are alike."""
    return tuple(made_by(part, **how))


def micro_batch_kernels(c: Setup, stage: Stage, parts: tuple[Section, ...]) -> tuple[Phases, Phases]:
    """All kernels of a micro-batch of a stage: those that run once, and those that run on each piece of a chunked loss.

    Args:
        c: The setup.
        stage: One of its stages.
        parts: The stage's sections.
    """
    chunks = c.loss.chunks
    cut = tuple(part for part in parts if part.name == "head" and c.loss.in_pieces)
    whole = phase_kernels(c, tuple(part for part in parts if part not in cut))
    whole["backward"] += _table_gradients(c, stage)
    if stage.last and c.loss.metrics:
        whole["forward"].append(_metrics(c, stage))
    if not cut:
        return whole, {}
    pieces = phase_kernels(c, cut)
    if c.loss.form == "fused-linear":
        return whole, _linear(c, cut[0], pieces)
    # All pieces of the loss use one cast of the head's matrix; the gradients of the pieces are added up.
    for phase, run in pieces.items():
        whole[phase] += [kernel for kernel in run if kernel.once]
        pieces[phase] = [kernel for kernel in run if not kernel.once]
    pieces["recompute"] = [replace(kernel, phase="recompute") for kernel in pieces["forward"]]
    matrix = c.precision.compute.bytes(stage.model.vocab * stage.model.hidden)
    sums = Kernel("lm_head.gradient_sum", "backward", "memory", NOTHING, as_size(3 * matrix), count=chunks - 1)
    whole["backward"].append(sums)
    return whole, pieces


def _linear(c: Setup, head: Section, pieces: Phases) -> Phases:
    """The kernels of a piece of a fused linear loss: casts of the matrix, and the sum of the matrix's gradient."""
    matrix = next(op for op in head.ops if op.kind == "matmul")
    stored, compute = (dtype.bytes(matrix.weights) for dtype in (c.base.weights, c.precision.compute))
    run = {phase: [kernel for kernel in kernels if not kernel.once] for phase, kernels in pieces.items()}
    if stored != compute:
        run["forward"].append(Kernel("lm_head.weight_cast", "forward", "memory", NOTHING, as_size(stored + compute)))
    if matrix.trains:
        wide = FP32.bytes(matrix.weights)
        # Read and written in place of the product's result, or that result cast and added.
        moved = 2 * wide - compute if sums_in_products(c) else compute + 2 * wide * (compute != wide) + 2 * stored
        run["backward"].append(Kernel("lm_head.gradient_sum", "backward", "memory", NOTHING, as_size(moved)))
    return run


def _table_gradients(c: Setup, stage: Stage) -> Iterator[Kernel]:
    """The gradient of a looked-up table is a whole table: zeroed, then rows are added. A tied one joins the head's."""
    for table in (p for p in trained_parameters(c, stage) if p.role == "embedding"):
        passes = 4 if stage.model.tied and stage.last and table.name == "wte.weight" else 1
        moved = as_size(passes * c.gradients.bytes(table.elements))
        yield Kernel(f"{table.name}.gradient", "backward", "memory", NOTHING, moved)


def _metrics(c: Setup, stage: Stage) -> Kernel:
    """Cross-entropies for metrics: the logits cast to fp32, then log-softmax, both in memory."""
    moved = TOKENS * (stage.model.vocab * (c.precision.compute.bits // 8 + 3 * 4))
    return Kernel("metrics", "forward", "memory", NOTHING, moved, count=c.loss.metrics)


def _accumulating(c: Setup, kernel: Kernel) -> Kernel:
    """A weight's gradient that its product adds to the sum: the sum is read and written where a result was written."""
    if kernel.product is None or not kernel.name.endswith(".weight_gradient"):
        return kernel
    p = kernel.product
    written, summed = c.precision.compute.bits // 8, 2 * c.precision.gradients.bits // 8
    return replace(kernel, bytes=kernel.bytes + p.count * p.m * p.n * (summed - written))
