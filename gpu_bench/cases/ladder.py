"""Suite 1: from FP32 eager to the fastest recipe, rung by rung, beside the recipes of others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpu_bench.cases.case import SHORTEST_ENERGY_S, ModelName, TrainingCase
from gpu_bench.cases.sizes import SIZE_NAMES, on_gpu

_FIRST_BATCH: dict[ModelName, int] = {"gpt2": 16, "gpt2-xl": 4}
"""Batches that fit 80 GB in FP32 with attention's scores in memory."""
_LARGE_BATCH: dict[ModelName, int] = {"gpt2": 64, "gpt2-xl": 24}
"""Where throughput stops growing on 141 GB."""
_WAVES: dict[ModelName, int] = {"gpt2": 66, "gpt2-xl": 33}
"""Batches whose rows, 33 x 1,024 = 132 x 256 or twice as many, fill whole waves of a Hopper's 132 multiprocessors."""
_VALUE: dict[ModelName, int] = {"gpt2": 92, "gpt2-xl": 100}
_PLAIN: dict[str, Any] = {"precision": "fp32", "attention": "standard"}

RUNGS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("fp32", {}, "where everyone starts"),
    ("tf32", {"precision": "tf32"}, "one line of code: products on tensor cores"),
    (
        "bf16-sdpa",
        {"precision": "amp-bf16", "attention": "flash", "attention_kernel": "flash"},
        "half the bytes, and scores never in memory; the kernel is named, since PyTorch may prefer another",
    ),
    ("fused-padded", {"update": "fused", "vocab_multiple": 64}, "one kernel for the update, whole tiles in the head"),
    ("compile", {"compile": "default"}, "element-wise operations and the loss in few kernels"),
    (
        "blocks",
        {"compile_region": "block"},
        "one block compiled for all: seconds instead of a minute, at the same speed",
    ),
    ("batch", {}, "a batch that fills the card"),
    ("cudnn", {"attention_kernel": "cudnn"}, "another fused attention kernel"),
    ("residual", {"residual": "bf16"}, "half the bytes between products"),
    ("waves", {}, "rows that fill whole waves of the GPU's multiprocessors"),
    ("weights", {"precision": "bf16-master", "update": "flat"}, "no casts, and clipping and update in one pass"),
    ("split-k", {"compile": "split-k"}, "the fastest of several kernels for each product, with divided sums"),
    ("accumulate", {"accumulate": 8, "warmup": 2, "steps": 5}, "one update for eight times as many tokens"),
    ("fp8", {"precision": "fp8-master", "scaling": "delayed"}, "the blocks' products in 8 bit"),
    ("fp8-fast", {"scaling": "delayed-fast"}, "and partial sums of gradients' products in fewer bits"),
)
"""Name of a rung, what it adds to the one before, why. `batch` and `waves` also take their batch."""
_ENDS = ("fp32", "waves", "weights", "fp8")
"""The rungs that the others need for comparison: they come first, and energy is measured on them."""
_SMALL = ("weights", "fp8")
"""At 124M: the best in 16 bit and in 8."""

PLAIN_RECIPE: dict[str, Any] = {"update": "fused", "vocab_multiple": 64, "compile": "default"}
"""What everyone starts from: autocast, PyTorch's attention, fused AdamW, a padded vocabulary, the model compiled."""
_PEERS: dict[ModelName, tuple[tuple[str, int, dict[str, Any]], ...]] = {
    "gpt2-xl": (
        ("plain-b12", 12, {}),
        ("plain-b24", 24, {}),
        ("plain-b32", 32, {}),
        ("transformers-b24", 24, {"implementation": "transformers", "vocab_multiple": 1}),
        ("torchao-b24", 24, {"implementation": "torchao", "precision": "fp8", "compile_region": "block"}),
        ("torchao-adam-b24", 24, {"implementation": "torchao", "optimizer": "adamw-8bit", "update": "default"}),
        ("liger-b24", 24, {"implementation": "liger", "compile_region": "block"}),
    ),
    "gpt2": (("plain-b64", 64, {}),),
}
"""Recipes of others by the same clock: the plain one at its usual batch, 12 as in nanoGPT, and at larger ones, of which
the fastest counts; and independent implementations. `transformers` keeps its own vocabulary."""


def _climb(model: ModelName) -> tuple[TrainingCase, ...]:
    cases: list[TrainingCase] = []
    fields = {**_PLAIN, "batch": _FIRST_BATCH[model]}
    for number, (rung, added, reason) in enumerate(RUNGS):
        fields |= added
        if rung in ("batch", "waves"):
            fields["batch"] = (_LARGE_BATCH if rung == "batch" else _WAVES)[model]
        if model == "gpt2" and rung not in _SMALL:
            continue
        name = f"ladder-{SIZE_NAMES[model]}-{number}-{rung}"
        end = rung in _ENDS
        fields["energy_s"] = SHORTEST_ENERGY_S if end and model == "gpt2-xl" else 0.0
        against = cases[-1].name if cases else ""
        cases.append(on_gpu(name, model, _VALUE[model] - (0 if end else 3), reason, against=against, **fields))
    return tuple(cases)


_CLIMBED = _climb("gpt2-xl")
(_WEIGHTS,) = (case for case in _CLIMBED if case.name.endswith("-weights"))
_BLOCKS: dict[str, Any] = {**PLAIN_RECIPE, "compile_region": "block"}
_BESIDE: tuple[TrainingCase, ...] = (
    on_gpu(
        "ladder-124m-beside-launched", "gpt2", 80,
        "a batch so small that launching kernels may take longer than running them", **_BLOCKS, batch=4,
    ),
    on_gpu(
        "ladder-124m-beside-graph", "gpt2", 80, "the same step as one CUDA graph: one launch instead of a thousand",
        against="ladder-124m-beside-launched", **_BLOCKS, batch=4, step_graph=True,
    ),
    on_gpu(
        "ladder-1558m-beside-8-bit", "gpt2-xl", 78,
        "8-bit moments, weights rounded at random, and no FP32 copy, in one kernel for each vector",
        **{**_BLOCKS, "precision": "bf16-rounded", "optimizer": "adamw-8bit", "update": "flat"}, batch=33,
    ),
    replace(
        _WEIGHTS, name="ladder-1558m-beside-epilogues", value=99, against=_WEIGHTS.name, epilogues="fused",
        reason="GELU, its gradient and the gradients of biases by the products beside which they stand",
    ),
)  # fmt: skip


_CONTROL: dict[ModelName, str] = {"gpt2": "ladder-124m-peer-plain-b64", "gpt2-xl": "ladder-1558m-peer-plain-b24"}
"""The case that each peer is compared with."""


def _peers(model: ModelName) -> tuple[TrainingCase, ...]:
    return tuple(
        on_gpu(
            f"ladder-{SIZE_NAMES[model]}-peer-{name}",
            model,
            _VALUE[model] - 1,
            "what others reach in the same run, on the same text, by the same clock",
            against="" if _CONTROL[model].endswith(name) else _CONTROL[model],
            **{**PLAIN_RECIPE, "batch": batch, **fields},
        )
        for name, batch, fields in _PEERS[model]
    )


LADDER = (*_CLIMBED, *_climb("gpt2"), *_peers("gpt2-xl"), *_peers("gpt2"), *_BESIDE)
