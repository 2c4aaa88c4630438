"""Training on a card of 16 GB: policies that save memory, what fits with each, its speed, and its effect on the loss.

The runs of a thousand steps are those that a plan for a card of 16 GB asks for: each technique alone, and all together.
Their baseline is the plan's: FP32, Adam, 8 sequences of 512 tokens, dropout 0.1, attention's scores in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_bench.cases.case import ModelName, TrainingCase
from gpu_bench.cases.kinds import FitCase
from gpu_bench.cases.sizes import MODELS, SIZE_NAMES, UNTIMED, on_gpu
from ironlaw.hardware.accelerators import accelerator

_FP32: dict[str, Any] = {"precision": "fp32", "optimizer": "adamw", "learning_rate": 1e-4}
_AMP: dict[str, Any] = {
    # Two savings that cost nothing: an update without copies, and expandable segments, which leave few gaps.
    **_FP32, "precision": "amp-bf16", "update": "fused", "allocator": "expandable"
}  # fmt: skip
_COMPILED: dict[str, Any] = {"compile": "default", "compile_region": "block"}
"""Compiled code keeps less for the backward pass. Policies that compute blocks or head again run uncompiled."""
_SHORT_OF_EVERYTHING: dict[str, Any] = {"checkpointing": "full", "loss": "chunked:8"}

POLICIES: Mapping[str, Mapping[str, Any]] = {
    "fp32": _FP32,
    "amp": {**_AMP, **_COMPILED},
    "chunked-loss": {**_AMP, "loss": "chunked:8"},
    "checkpointing": {**_AMP, **_SHORT_OF_EVERYTHING},
    "8-bit-adam": {**_AMP, **_SHORT_OF_EVERYTHING, "optimizer": "adamw-8bit", "update": "flat"},
    "16-bit-weights": {
        **_AMP, **_SHORT_OF_EVERYTHING, "precision": "bf16-rounded", "optimizer": "adamw-8bit", "update": "flat",
        "optimizer_in_backward": True, "clip_norm": None,
    },
}  # fmt: skip
"""Name -> what it sets in a training case. Each saves memory over the one before; the last ones change the result of
training: quantized moments, then weights without an FP32 copy, rounded at random and updated without clipping."""


def trial(case: FitCase, policy: str, batch: int) -> TrainingCase:
    """The training case that shows whether a batch fits the emulated card."""
    return TrainingCase(
        name=f"{case.name}-{policy}-b{batch}", seed=case.seed, repeats=1, time_limit_s=case.time_limit_s,
        model=case.model, batch=batch, sequence=case.sequence, warmup=1, steps=case.steps, steady=False,
        memory_limit=case.memory_limit, **POLICIES[policy],
    )  # fmt: skip


def emulates(case: FitCase, memory: int | None) -> bool:
    """Whether a device with so many bytes emulates the card, rather than being one. A CPU (None) emulates it."""
    return memory is None or memory > _LIKE * case.memory_limit


_LIKE = 1.1
"""A device with up to this multiple of the card's memory counts as such a card: those sold as equal differ by less."""
_CARD = "rtx-5080"
_USABLE = 0.97
"""Share of a card's memory that programs get: the driver, and a screen where there is one, keep the rest."""
_REAL = 14 * 10**9
"""Least memory of what is sold as a card of 16 GB."""


def fit_case(model: ModelName) -> FitCase:
    """What fits a card of 16 GB."""
    return FitCase(
        name=f"fit-16gb-{SIZE_NAMES[model]}", value=87, reason="which settings train on a card that readers own",
        model=model, sequence=1024, card=_CARD, memory_limit=int(_USABLE * accelerator(_CARD).memory_bytes),
        policies=tuple(POLICIES), repeats=1, device="cuda", minimum_memory=_REAL, time_limit_s=1800.0,
    )  # fmt: skip


FIT = tuple(fit_case(model) for model in reversed(MODELS))

_BATCHES: dict[ModelName, dict[str, int]] = {
    "gpt2": {"fp32": 8, "amp": 24},
    "gpt2-large": {"checkpointing": 16},
    "gpt2-xl": {"16-bit-weights": 32},
}
"""The largest batches of the suite that fit 16 GB by the engine."""

CARD = tuple(
    on_gpu(
        f"card-16gb-{SIZE_NAMES[model]}-{policy}",
        model,
        79,
        "the ladder of a card that readers own, with batches of its size",
        **{**POLICIES[policy], "batch": batch, "minimum_memory": _REAL},
    )
    for model, batches in _BATCHES.items()
    for policy, batch in batches.items()
)
"""How fast each policy trains on a 16 GB card; any larger GPU can run them too."""

_BASELINE: dict[str, Any] = {
    **UNTIMED, "precision": "fp32", "optimizer": "adamw", "attention": "standard", "dropout": 0.1, "batch": 8,
    "sequence": 512, "learning_rate": 3e-4, "steps": 1000, "validate_every": 100, "repeats": 1,
    "allocator": "expandable", "time_limit_s": 3600.0,
}  # fmt: skip
_TOGETHER: dict[str, Any] = {
    **_SHORT_OF_EVERYTHING, "precision": "bf16-rounded", "optimizer": "adamw-8bit", "update": "flat",
    "attention": "flash", "batch": 1, "accumulate": 8,
}  # fmt: skip
_ALONE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("baseline", {}),
    ("mixed", {"precision": "amp-bf16"}),
    ("16-bit-weights", {"precision": "bf16-rounded", "update": "flat"}),
    ("flash", {"attention": "flash"}),
    ("8-bit-adam", {"optimizer": "adamw-8bit", "update": "flat"}),
    ("checkpointing", {"checkpointing": "full"}),
    ("chunked-loss", {"loss": "chunked:8"}),
    ("accumulation", {"batch": 1, "accumulate": 8}),
    ("in-backward", {"optimizer_in_backward": True, "clip_norm": None}),
    ("fp8", {"precision": "fp8", "scaling": "delayed"}),
    ("together", _TOGETHER),
)
_LARGER: tuple[tuple[ModelName, str, dict[str, Any]], ...] = (
    ("gpt2-medium", "baseline", {}),
    ("gpt2-medium", "together", _TOGETHER),
    ("gpt2-xl", "together", {**_TOGETHER, "learning_rate": 1e-4}),
)


def _case(model: ModelName, name: str, changes: dict[str, Any], value: int) -> TrainingCase:
    reason = "memory saved and quality kept over a thousand steps, as the plan's criteria ask"
    size = SIZE_NAMES[model]
    against = f"validation-{size}-baseline" if name != "baseline" and model != "gpt2-xl" else ""
    return on_gpu(f"validation-{size}-{name}", model, value, reason, against=against, **{**_BASELINE, **changes})


VALIDATION = (
    *(
        _case("gpt2", name, changes, 71 if name in ("baseline", "mixed", "together") else 63)
        for name, changes in _ALONE
    ),
    *(_case(model, name, changes, 69) for model, name, changes in _LARGER),
)
