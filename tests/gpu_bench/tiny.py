"""A case small enough for a second."""

from __future__ import annotations

from typing import Any

from gpu_bench.cases.case import TrainingCase


def tiny_case(name: str = "tiny", **changes: Any) -> TrainingCase:
    fields: dict[str, Any] = {
        "name": name,
        "model": "pico",
        "precision": "fp32",
        "optimizer": "adam",
        "learning_rate": 1e-3,
        "batch": 2,
        "sequence": 32,
        "warmup": 1,
        "steps": 3,
        "steady": False,
        "repeats": 1,
    }
    return TrainingCase(**{**fields, **changes})
