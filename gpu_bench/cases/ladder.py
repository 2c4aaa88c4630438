"""Suite 1: from FP32 eager to the fastest recipe, rung by rung and each technique alone, at four sizes."""

from __future__ import annotations

from typing import Any

from gpu_bench.cases.base import MODELS, SIZE_NAMES, on_gpu
from gpu_bench.cases.case import ModelName, TrainingCase

_FIRST_BATCH: dict[ModelName, int] = {"gpt2": 16, "gpt2-medium": 8, "gpt2-large": 8, "gpt2-xl": 4}
"""What FP32 with its scores in memory leaves room for on 80 GB."""
_LARGE_BATCH: dict[ModelName, int] = {"gpt2": 64, "gpt2-medium": 48, "gpt2-large": 32, "gpt2-xl": 24}
"""Where throughput stops growing on 141 GB."""
_VALUE: dict[ModelName, int] = {"gpt2": 92, "gpt2-medium": 70, "gpt2-large": 72, "gpt2-xl": 100}
_PLAIN: dict[str, Any] = {"precision": "fp32", "attention": "standard"}

RUNGS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("fp32", {}, "where everyone starts"),
    ("tf32", {"precision": "tf32"}, "one line of code: products on tensor cores"),
    ("bf16-sdpa", {"precision": "amp-bf16", "attention": "flash"}, "half the bytes, and scores never in memory"),
    ("fused-padded", {"update": "fused", "vocab_multiple": 64}, "one kernel for the update, whole tiles in the head"),
    ("compile", {"compile": "default"}, "element-wise operations and the loss in few kernels"),
    ("batch", {}, "a batch that fills the card"),
    ("cudnn", {"attention_kernel": "cudnn"}, "another fused attention kernel"),
    ("autotune", {"compile": "max-autotune-no-cudagraphs"}, "the fastest of several kernels for each product"),
    ("fp8", {"precision": "fp8", "compile_region": "block"}, "the blocks' products in 8 bit"),
)
"""Name of a rung, what it adds to the one before, why. The rung `batch` takes the large batch."""

_ALONE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("bf16", {"precision": "amp-bf16"}),
    ("sdpa", {"attention": "flash"}),
    ("fused", {"update": "fused"}),
    ("padded", {"vocab_multiple": 64}),
    ("compile", {"compile": "default"}),
    ("batch", {}),
)
"""Each technique on the first rung only. TF32 alone is the second rung; cuDNN and FP8 need 16 bit."""


def _climb(model: ModelName) -> tuple[TrainingCase, ...]:
    fields, cases = {**_PLAIN, "batch": _FIRST_BATCH[model]}, []
    for number, (rung, added, reason) in enumerate(RUNGS):
        fields |= added
        if rung == "batch":
            fields["batch"] = _LARGE_BATCH[model]
        name = f"ladder-{SIZE_NAMES[model]}-{number}-{rung}"
        # The ends first: without them the rungs between say little.
        value = _VALUE[model] - (0 if rung in ("fp32", "batch", "fp8") else 3)
        cases.append(on_gpu(name, model, value, reason, **fields))
    return tuple(cases)


def _alone(model: ModelName) -> tuple[TrainingCase, ...]:
    return tuple(
        on_gpu(
            f"ladder-{SIZE_NAMES[model]}-only-{name}",
            model,
            _VALUE[model] - 40,
            "what the technique gives by itself, against what it adds to the others",
            **{**_PLAIN, "batch": (_LARGE_BATCH if name == "batch" else _FIRST_BATCH)[model], **added},
        )
        for name, added in _ALONE
    )


LADDER = tuple(case for model in reversed(MODELS) for case in (*_climb(model), *_alone(model)))
