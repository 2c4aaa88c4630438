"""Suite 11: energy and money per token, from the plainest recipe to the fastest."""

from __future__ import annotations

from typing import Any

from gpu_bench.cases.base import SIZE_NAMES, on_gpu
from gpu_bench.cases.case import SHORTEST_ENERGY_S, ModelName

_RECIPES: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("bf16-compiled", 85, {"update": "fused", "vocab_multiple": 64, "compile": "default"}),
    ("fp32", 81, {"precision": "fp32"}),
    ("bf16", 75, {}),
    ("tf32", 62, {"precision": "tf32"}),
    (
        "fp8-compiled",
        79,
        {
            "precision": "fp8",
            "update": "fused",
            "vocab_multiple": 64,
            "compile": "default",
            "compile_region": "block",
        },
    ),
)
_MODELS: tuple[tuple[ModelName, int, int], ...] = (("gpt2-xl", 8, 0), ("gpt2", 32, 20))
"""Model, batch, and how much less its cases are worth."""

ENERGY = tuple(
    on_gpu(
        f"energy-{SIZE_NAMES[model]}-{name}",
        model,
        value - less,
        "joules and dollars for the same tokens",
        batch=batch,
        # One repeat: after half a minute at steady power, more repeats add nothing.
        repeats=1,
        energy_s=SHORTEST_ENERGY_S,
        **fields,
    )
    for model, batch, less in _MODELS
    for name, value, fields in _RECIPES
)
