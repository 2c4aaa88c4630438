"""The optimizer's step as traffic: which bytes it reads and writes, in one fused kernel or operation by operation."""

from __future__ import annotations

from engine.memory import training_memory
from engine.models import Transformer
from engine.optimizers import Optimizer, optimizer
from engine.precision import Precision
from engine.units import Bytes, Count

FOREACH_PASSES = {"sgd": 3, "momentum": 8, "rmsprop": 13, "adam": 18, "adamw": 20}
"""Reads and writes of a parameter-sized tensor in PyTorch's `foreach` implementations, counted from their source.

AdamW: decay (2), first moment (3), second moment (2 + 3), root (2), divide (2), epsilon (2), update (4).
"""

FOREACH_LAUNCHES: Count = 12
"""Kernels per list of tensors of a `foreach` step, of the order of the operations above."""


def update_bytes(model: Transformer, rule: str | Optimizer, mode: Precision, *, fused: bool) -> Bytes:
    """Bytes that one optimizer step moves.

    Fused: gradients are read; parameters (or the master copy) and states are read and written; with a master copy the
    working weights are written too. Otherwise PyTorch's `foreach`, which passes over memory once per operation.

    Args:
        model: The transformer.
        rule: The optimizer.
        mode: Precision mode.
        fused: Whether one kernel does the whole update.
    """
    rule = optimizer(rule)
    ledger = training_memory(model, optimizer=rule, precision=mode)
    weights, master = ledger.component("parameters"), ledger.component("master")
    updated = master or weights
    states = ledger.component("optimizer")
    once = ledger.component("gradients") + 2 * updated + 2 * states + (weights if master else 0)
    if fused:
        return once
    return max(once, FOREACH_PASSES.get(rule.name, FOREACH_PASSES["adamw"]) * updated)
