"""Suite 13: the same step on one GPU and on more, spread in four ways; needs a machine with at least two."""

from __future__ import annotations

from typing import Any

from gpu_bench.distributed.case import ScalingCase


def _scaling(name: str, value: int, reason: str, gigabytes: int, **fields: Any) -> ScalingCase:
    return ScalingCase(
        name=f"scaling-{name}",
        value=value,
        reason=reason,
        precision="amp-bf16",
        sequence=1024,
        device="cuda",
        devices=2,
        minimum_memory=gigabytes * 10**9,
        **fields,
    )


SCALING = (
    _scaling(
        "ddp-gpt2", 60, "the way most people first use several GPUs", 22, model="gpt2", strategy="ddp", scaling="weak",
        batch=16,
    ),
    _scaling(
        "fsdp2-gpt2-xl", 65, "state spread: what fits then, and what gathering the weights costs", 78, model="gpt2-xl",
        strategy="fsdp2", scaling="weak", batch=8,
    ),
    _scaling(
        "ddp-gpt2-strong", 45, "a batch that does not grow: where communication takes over", 22, model="gpt2",
        strategy="ddp", scaling="strong", batch=32,
    ),
    # GPT-2 XL has 25 heads, which only 5 and 25 divide; medium has 16.
    _scaling(
        "tensor-gpt2-medium", 50, "two sums per block and pass: what fast links are for", 40, model="gpt2-medium",
        strategy="tensor", scaling="strong", batch=16,
    ),
    _scaling(
        "pipeline-gpt2-large", 50, "the bubble, measured", 60, model="gpt2-large", strategy="pipeline",
        scaling="strong", batch=16, micro_batches=16,
    ),
)  # fmt: skip
