"""Suite 5: attention with its scores in memory against fused, from 512 to 32,768 tokens alone, to 8,192 in training."""

from __future__ import annotations

from typing import Any

from gpu_bench.cases.base import SIZE_NAMES, alone, on_gpu
from gpu_bench.cases.case import Attention, Case
from gpu_bench.cases.sizes import SIZES

_LENGTHS = (512, 1024, 2048, 4096, 8192)
_FORMS: tuple[Attention, ...] = ("standard", "flash")
_TOKENS = 16 * 1024
_LAYER: dict[str, Any] = {"heads": SIZES["gpt2"].heads, "device": "cuda"}
"""One layer of the smallest GPT-2."""

ATTENTION: tuple[Case, ...] = (
    alone(
        "attention",
        "bf16",
        90,
        "time and memory of one layer, and the length at which the scores no longer fit",
        variants=("standard", "flash", "efficient", "cudnn"),
        # The scores of the last two lengths are what makes cards of 24 and 141 GB run out of memory.
        sizes=(*_LENGTHS, 16384, 32768),
        formats=("bf16",),
        batch=8,
        **_LAYER,
    ),
    alone(
        "attention",
        "fp32",
        60,
        "without tensor cores",
        variants=("standard", "efficient"),
        sizes=_LENGTHS,
        formats=("fp32",),
        batch=4,
        **_LAYER,
    ),
    alone(
        "attention",
        "short",
        45,
        "runs on every machine",
        variants=_FORMS,
        sizes=(128, 256, 512, 1024),
        formats=("fp32",),
        heads=4,
        rounds=10,
    ),
    *(
        on_gpu(
            f"attention-{SIZE_NAMES['gpt2']}-{form}-{length}",
            "gpt2",
            76,
            "what the layer's time and memory mean for a whole step of equal tokens",
            batch=_TOKENS // length,
            sequence=length,
            attention=form,
        )
        for length in (512, 2048, 8192)
        for form in _FORMS
    ),
)
