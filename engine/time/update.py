"""The optimizer's step as traffic: which bytes it reads and writes, in one fused kernel or operation by operation."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from engine.config.layout import Layout, Stage
from engine.config.optimizers import Optimizer
from engine.config.recipe import recipe
from engine.core.units import Bytes, Count
from engine.memory.static import static_tensors
from engine.numerics.precision import Precision

PLAIN = recipe("none", "full", 1, False, "none", "fused")
"""Choices that change nothing about what the optimizer holds."""

FOREACH_PASSES = {"sgd": 3, "momentum": 8, "rmsprop": 13, "adam": 18, "adamw": 20}
"""Reads and writes of a parameter-sized tensor in PyTorch's `foreach` implementations, counted from their source.

AdamW: decay (2), first moment (3), second moment (2 + 3), root (2), divide (2), epsilon (2), update (4).
"""

FOREACH_LAUNCHES: Count = 12
"""Kernels per list of tensors of a `foreach` step, of the order of the operations above."""


@lru_cache(maxsize=4096)
def update_bytes(stage: Stage, layout: Layout, rule: Optimizer, mode: Precision, *, fused: bool) -> Bytes:
    """Bytes that one optimizer step moves on one device of a layout.

    Fused: gradients are read; parameters (or the master copy) and states are read and written; with a master copy the
    working weights are written too. Otherwise PyTorch's `foreach`, which passes over memory once per operation. With
    ZeRO every device updates only what it holds the states of.

    Args:
        stage: The pipeline stage.
        layout: How devices divide the states.
        rule: The optimizer.
        mode: Precision mode.
        fused: Whether one kernel does the whole update.
    """
    sums: Counter[str] = Counter()
    for tensor in static_tensors(stage, layout, rule, mode, PLAIN, False):
        # Where gradients are summed apart, the update reads the sums alone.
        if not (mode.accumulation and tensor.component == "gradients" and tensor.part != "sum"):
            sums[tensor.component] += tensor.bytes
    shares = layout.data if layout.data > 1 else 1
    weights = sums["parameters"] // (shares if layout.zero in (1, 2) else 1)
    gradients = sums["gradients"] // (shares if layout.zero == 1 else 1)
    updated = sums["master"] or weights
    once = gradients + 2 * updated + 2 * sums["optimizer"] + (weights if sums["master"] else 0)
    if fused:
        return once
    return max(once, FOREACH_PASSES.get(rule.name, FOREACH_PASSES["adamw"]) * updated)
