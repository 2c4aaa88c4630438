"""Suite 12: memory by component, by the textbook, by the engine and measured, over many configurations."""

from __future__ import annotations

from typing import Any

from gpu_bench.cases.base import SIZE_NAMES, on_gpu
from gpu_bench.cases.case import ModelName, TrainingCase

_CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("amp", {}),
    ("fp32", {"precision": "fp32"}),
    ("pure-bf16", {"precision": "bf16"}),
    ("sgd", {"optimizer": "sgd", "learning_rate": 0.1}),
    ("8-bit", {"optimizer": "adamw-8bit"}),
    ("standard-attention", {"attention": "standard"}),
    ("checkpointed", {"checkpointing": "full"}),
    ("chunked-loss", {"loss": "chunked:8"}),
    ("in-backward", {"optimizer_in_backward": True, "clip_norm": None}),
    ("accumulated", {"accumulate": 2}),
)
_MORE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("momentum", {"optimizer": "momentum", "learning_rate": 0.02}),
    ("adam-fused", {"optimizer": "adam", "update": "fused"}),
    ("fp16", {"precision": "amp-fp16"}),
    ("selective", {"attention": "standard", "checkpointing": "selective"}),
    ("sqrt", {"checkpointing": "sqrt"}),
    ("relu", {"activation": "relu"}),
    ("dropout", {"dropout": 0.1}),
    ("short", {"sequence": 256}),
    ("batch-16", {"batch": 16}),
)
"""At the smallest size only."""


def _case(model: ModelName, name: str, changes: dict[str, Any], value: int) -> TrainingCase:
    return on_gpu(
        f"memory-{SIZE_NAMES[model]}-{name}",
        model,
        value,
        "the engine's and the chapter's formulas against an allocator's own count",
        # Bytes are the same in every step: few steps, once.
        **{"batch": 4, "warmup": 2, "steps": 5, "repeats": 1, "steady": False, **changes},
    )


MEMORY = (
    *(_case("gpt2-xl", name, changes, 82) for name, changes in _CHANGES),
    *(_case("gpt2", name, changes, 80) for name, changes in (*_CHANGES, *_MORE)),
)
