"""Suite 5: attention with its scores in memory against fused, from 512 to 16,384 tokens, alone and in training."""

from __future__ import annotations

from gpu_bench.case import Attention, Case, OperationsCase
from gpu_bench.suites.base import SIZE_NAMES, on_gpu

_LENGTHS = (512, 1024, 2048, 4096, 8192)
_FORMS: tuple[Attention, ...] = ("standard", "flash")
_TOKENS = 16 * 1024

ATTENTION: tuple[Case, ...] = (
    OperationsCase(
        name="attention-bf16",
        value=90,
        reason="time and memory of one layer, and the length at which the scores no longer fit",
        operation="attention",
        variants=("standard", "flash", "efficient", "cudnn"),
        # The scores of the last two lengths are what makes cards of 24 and 141 GB run out of memory.
        sizes=(*_LENGTHS, 16384, 32768),
        formats=("bf16",),
        batch=8,
        heads=12,
        device="cuda",
        time_limit_s=300.0,
    ),
    OperationsCase(
        name="attention-fp32",
        value=60,
        reason="without tensor cores",
        operation="attention",
        variants=("standard", "efficient"),
        sizes=_LENGTHS,
        formats=("fp32",),
        batch=4,
        heads=12,
        device="cuda",
        time_limit_s=300.0,
    ),
    OperationsCase(
        name="attention-short",
        value=45,
        reason="runs on every machine",
        operation="attention",
        variants=("standard", "flash"),
        sizes=(128, 256, 512, 1024),
        formats=("fp32",),
        heads=4,
        rounds=10,
        time_limit_s=300.0,
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
        for length in _LENGTHS
        for form in _FORMS
    ),
)
