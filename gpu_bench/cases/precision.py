"""Suite 3: number formats: memory, speed, and whether the loss still falls."""

from __future__ import annotations

from typing import get_args

from gpu_bench.cases.base import SIZE_NAMES, on_gpu
from gpu_bench.cases.case import NARROW, ModelName, Precision

_BATCHES: dict[ModelName, int] = {"gpt2": 16, "gpt2-xl": 4}
_VALUES: dict[ModelName, int] = {"gpt2": 86, "gpt2-xl": 83}

PRECISION = tuple(
    on_gpu(
        f"precision-{SIZE_NAMES[model]}-{precision}",
        model,
        _VALUES[model],
        "the same data in every format: a speed counts only beside its loss",
        precision=precision,
        update="flat" if precision in NARROW else "default",
        batch=batch,
        # Eight-bit products gain only once the scaling around them is compiled; compare it with the ladder.
        steps=100 if model == "gpt2" else 20,
    )
    for model, batch in _BATCHES.items()
    for precision in get_args(Precision)
)
