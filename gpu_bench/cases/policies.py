"""How to train on a card that is too small, from the most conservative to the most aggressive. No PyTorch here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_bench.cases.case import TrainingCase
from gpu_bench.cases.kinds import FitCase

_PLAIN: dict[str, Any] = {"precision": "fp32", "optimizer": "adamw", "learning_rate": 1e-4}
_USUAL: dict[str, Any] = {
    # What costs nothing: an update that makes no copies, and segments that grow and leave little between them.
    **_PLAIN, "precision": "amp-bf16", "update": "fused", "allocator": "expandable"
}  # fmt: skip
_COMPILED: dict[str, Any] = {"compile": "default", "compile_region": "block"}
"""Keeps less for the backward pass. Not where blocks and head are computed again: they run as they are."""
_SHORT_OF_EVERYTHING: dict[str, Any] = {"checkpointing": "full", "loss": "chunked:8"}

POLICIES: Mapping[str, Mapping[str, Any]] = {
    "fp32": _PLAIN,
    "amp": {**_USUAL, **_COMPILED},
    "chunked-loss": {**_USUAL, "loss": "chunked:8"},
    "checkpointing": {**_USUAL, **_SHORT_OF_EVERYTHING},
    "8-bit-adam": {**_USUAL, **_SHORT_OF_EVERYTHING, "optimizer": "adamw-8bit", "update": "flat"},
    "16-bit-weights": {
        **_USUAL,
        **_SHORT_OF_EVERYTHING,
        "precision": "bf16-rounded",
        "optimizer": "adamw-8bit",
        "update": "flat",
        "optimizer_in_backward": True,
        "clip_norm": None,
    },
}
"""Name -> what it sets in a training case. Each saves memory over the one before; the last ones change the result of
training: quantized moments, then weights without an FP32 copy, rounded at random and updated without clipping."""


def trial(case: FitCase, policy: str, batch: int) -> TrainingCase:
    """The training case that shows whether a batch fits."""
    return TrainingCase(
        name=f"{case.name}-{policy}-b{batch}",
        seed=case.seed,
        repeats=1,
        time_limit_s=case.time_limit_s,
        model=case.model,
        batch=batch,
        sequence=case.sequence,
        warmup=1,
        steps=case.steps,
        steady=False,
        memory_limit=0 if case.native else case.memory_limit,
        **POLICIES[policy],
    )
