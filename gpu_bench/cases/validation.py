"""Suite 14: what a plan for a 16 GB card asks: a thousand steps, each technique alone and all of them together.

The baseline is that of the plan: FP32, Adam, 8 sequences of 512 tokens, dropout 0.1, and scores of attention in memory.
"""

from __future__ import annotations

from typing import Any

from gpu_bench.cases.base import SIZE_NAMES, on_gpu
from gpu_bench.cases.case import ModelName, TrainingCase

_BASELINE: dict[str, Any] = {
    "precision": "fp32",
    "optimizer": "adamw",
    "attention": "standard",
    "dropout": 0.1,
    "batch": 8,
    "sequence": 512,
    "learning_rate": 3e-4,
    "steps": 1000,
    "validate_every": 100,
    "repeats": 1,
    "allocator": "expandable",
    "time_limit_s": 3600.0,
}
_TOGETHER: dict[str, Any] = {
    "precision": "bf16-rounded",
    "optimizer": "adamw-8bit",
    "update": "flat",
    "attention": "flash",
    "checkpointing": "full",
    "loss": "chunked:8",
    "batch": 1,
    "accumulate": 8,
}
_ALONE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("baseline", {}),
    ("mixed", {"precision": "amp-bf16"}),
    ("16-bit-weights", {"precision": "bf16-rounded", "update": "flat"}),
    ("flash", {"attention": "flash"}),
    ("8-bit-adam", {"optimizer": "adamw-8bit", "update": "flat"}),
    ("checkpointing", {"checkpointing": "full"}),
    ("chunked-loss", {"loss": "chunked:8"}),
    ("accumulation", {"batch": 1, "accumulate": 8}),
    ("in-backward", {"optimizer_in_backward": True, "clip_norm": None}),
    ("fp8", {"precision": "fp8", "scaling": "delayed"}),
    ("together", _TOGETHER),
)
_LARGER: tuple[tuple[ModelName, str, dict[str, Any]], ...] = (
    ("gpt2-medium", "baseline", {}),
    ("gpt2-medium", "together", _TOGETHER),
    ("gpt2-xl", "mixed", {"precision": "amp-bf16", "learning_rate": 1e-4, "attention": "flash"}),
    ("gpt2-xl", "together", {**_TOGETHER, "learning_rate": 1e-4}),
)


def _case(model: ModelName, name: str, changes: dict[str, Any], value: int) -> TrainingCase:
    reason = "memory saved and quality kept over a thousand steps, as the plan's criteria ask"
    return on_gpu(f"validation-{SIZE_NAMES[model]}-{name}", model, value, reason, **{**_BASELINE, **changes})


VALIDATION = (
    *(
        _case("gpt2", name, changes, 71 if name in ("baseline", "mixed", "together") else 63)
        for name, changes in _ALONE
    ),
    *(_case(model, name, changes, 69) for model, name, changes in _LARGER),
)
