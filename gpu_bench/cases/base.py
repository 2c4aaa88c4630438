"""What the cases of several suites share."""

from __future__ import annotations

from typing import Any

from gpu_bench.cases.case import ModelName, Operation, TrainingCase
from gpu_bench.cases.kinds import OperationsCase

MODELS: tuple[ModelName, ...] = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
SIZE_NAMES: dict[ModelName, str] = {
    "gpt2": "124m", "gpt2-medium": "355m", "gpt2-large": "774m", "gpt2-xl": "1558m"
}  # fmt: skip
_USUAL: dict[str, Any] = {
    "precision": "amp-bf16",
    "optimizer": "adamw",
    "learning_rate": 1e-4,
    "sequence": 1024,
    "device": "cuda",
    # The first repeat of a large model may have to compile for minutes.
    "time_limit_s": 900.0,
}


def on_gpu(name: str, model: ModelName, value: int, reason: str, **fields: Any) -> TrainingCase:
    """A training case as everyone first trains it on a GPU, autocast to BF16 and AdamW, but for what `fields` say."""
    return TrainingCase(name=name, model=model, value=value, reason=reason, **{**_USUAL, **fields})


def alone(operation: Operation, name: str, value: int, reason: str, **fields: Any) -> OperationsCase:
    """A case that times one kind of operation by itself."""
    case = f"{operation}-{name}"
    return OperationsCase(name=case, operation=operation, value=value, reason=reason, time_limit_s=300.0, **fields)
