"""The suites that change one thing: optimizer, checkpointing, attention, input.

Each case answers a question that a claim or a page asks. The smoke suite runs on any machine; the last suites measure
the device itself, and several of them.
"""

from __future__ import annotations

from typing import Any

from gpu_bench.cases.case import Attention, Case, OptimizerName, Precision, TrainingCase
from gpu_bench.cases.kinds import FORMATS, AttentionCase, RooflineCase
from gpu_bench.cases.sizes import SIZES, on_gpu
from gpu_bench.distributed.case import ScalingCase
from gpu_bench.input_pipeline.case import LoaderCase, TokenizeCase


def _nano(precision: Precision, optimizer: OptimizerName, learning_rate: float, value: int) -> TrainingCase:
    return TrainingCase(
        name=f"gpt2-nano-{precision}-{optimizer}", value=value, model="nano", batch=8, sequence=128,
        reason="runs on every machine, so it shows that measuring works; Adam and SGD differ most",
        against="" if optimizer == "sgd" else f"gpt2-nano-{precision}-sgd",
        precision=precision, optimizer=optimizer, learning_rate=learning_rate,
    )  # fmt: skip


# The same model and data with no, one and two more copies of the weights as optimizer state.
SMOKE = (
    _nano("fp32", "adam", 1e-3, 60),
    _nano("fp32", "sgd", 0.1, 60),
    _nano("fp32", "momentum", 0.02, 50),
    _nano("amp-bf16", "adam", 1e-3, 50),
    _nano("amp-bf16", "sgd", 0.1, 50),
    _nano("amp-bf16", "momentum", 0.02, 40),
)

CHECKPOINTING = (
    *(
        on_gpu(
            f"checkpointing-774m-{policy}", "gpt2-large", 84, "from everything kept to everything computed again",
            against="" if policy == "none" else "checkpointing-774m-none", batch=8, checkpointing=policy,
        )
        for policy in ("none", "full")
    ),
    *(
        on_gpu(
            f"accumulation-355m-{passes}", "gpt2-medium", 78,
            "the same batch in more and smaller pieces: what memory it saves and what time it costs",
            against="" if passes == 1 else "accumulation-355m-1", batch=16 // passes, accumulate=passes,
        )
        for passes in (1, 4)
    ),
)  # fmt: skip

_FORMS: tuple[Attention, ...] = ("standard", "flash")
ATTENTION: tuple[Case, ...] = (
    AttentionCase(
        name="attention-bf16",
        value=90,
        reason="time and memory of one layer, and the length at which the scores no longer fit",
        variants=("standard", "flash", "efficient", "cudnn"),
        # The scores of the last two lengths are what makes cards of 24 and 141 GB run out of memory.
        sizes=(512, 1024, 2048, 4096, 8192, 16384, 32768),
        formats=("bf16",), batch=8, heads=SIZES["gpt2"].heads, device="cuda", time_limit_s=300.0,
    ),
    *(
        on_gpu(
            f"attention-124m-{form}-2048", "gpt2", 76, "what the layer's time and memory mean for a whole step",
            against="" if form == "standard" else "attention-124m-standard-2048",
            batch=8, sequence=2048, attention=form,
        )
        for form in _FORMS
    ),
)  # fmt: skip

PIPELINE = (
    TokenizeCase(
        name="pipeline-tokenize",
        value=70,
        reason="tokens per second and core: from it follows how many workers feed a GPU",
    ),
    LoaderCase(
        name="pipeline-before-after",
        value=75,
        reason="what the chapter promises of a better input pipeline, step by step: workers, reserve, pinned memory",
        model="gpt2", precision="amp-bf16", batch=16, sequence=1024, device="cuda", minimum_memory=22 * 10**9,
        loaders=("text, 0 workers", "text, 1 workers", "text, 4 workers", "tokens, 0 workers",
                 "tokens, 4 workers, prefetch 2", "tokens, 4 workers, prefetch 2, pinned"),
    ),
)  # fmt: skip


def _roofline(name: str, value: int, reason: str, **fields: Any) -> RooflineCase:
    return RooflineCase(name=f"roofline-{name}", value=value, reason=reason, **fields)


_WIDTHS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)

ROOFLINE = (
    _roofline(
        "matmul-square", 85, "the ceiling of compute in every format, which all utilizations are compared with",
        part="matmul", formats=FORMATS, shapes=tuple(f"{width}x{width}x{width}" for width in _WIDTHS), device="cuda",
    ),
    _roofline(
        "copy", 80, "the ceiling of memory, and where caches end",
        part="copy", sizes=tuple(2**power for power in range(16, 33, 2)), minimum_memory=10 * 10**9,
    ),
    _roofline(
        "operations-gpt2-xl", 75, "which operations of the step are bound by compute and which by memory",
        part="operations", formats=("fp32", "bf16"), batch=8, sequence=1024, device="cuda",
        minimum_memory=20 * 10**9,
    ),
)  # fmt: skip


def _scaling(name: str, value: int, reason: str, gigabytes: int, **fields: Any) -> ScalingCase:
    return ScalingCase(
        name=f"scaling-{name}", value=value, reason=reason, precision="amp-bf16", compile="default", sequence=1024,
        device="cuda", devices=2, minimum_memory=gigabytes * 10**9, **fields,
    )  # fmt: skip


SCALING = (
    _scaling(
        "ddp-gpt2", 60, "the way most people first use several GPUs", 22, model="gpt2", strategy="ddp", scaling="weak",
        batch=16,
    ),
    _scaling(
        "fsdp2-gpt2-xl", 65, "state spread: what fits then, and what gathering the weights costs", 78, model="gpt2-xl",
        strategy="fsdp2", scaling="weak", batch=8,
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
