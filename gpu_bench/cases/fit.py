"""Suite 10: what fits 8 to 80 GB, at four sizes, policy after policy. Memory is emulated, speed is the real card's."""

from __future__ import annotations

from dataclasses import replace

from engine.hardware.accelerators import accelerator
from gpu_bench.cases.base import MODELS, SIZE_NAMES, on_gpu
from gpu_bench.cases.case import ModelName
from gpu_bench.cases.kinds import FitCase
from gpu_bench.cases.policies import POLICIES

_CARDS = {8: "rtx-4060", 16: "rtx-5080", 24: "rtx-4090", 32: "rtx-5090", 40: "a100-40", 80: "h100-sxm"}
_USABLE = 0.97
"""Share of a card's memory that programs get: the driver, and a screen where there is one, keep the rest."""
_VALUES = {16: 87, 24: 76, 8: 73, 80: 64, 32: 55, 40: 50}


def _fit(gigabytes: int, model_index: int) -> FitCase:
    model, card = MODELS[model_index], _CARDS[gigabytes]
    return FitCase(
        name=f"fit-{gigabytes}gb-{SIZE_NAMES[model]}",
        value=_VALUES[gigabytes],
        reason="which settings train on a card that readers own",
        model=model,
        sequence=1024,
        card=card,
        memory_limit=int(_USABLE * accelerator(card).memory_bytes),
        policies=tuple(POLICIES),
        repeats=1,
        device="cuda",
        minimum_memory=accelerator(card).memory_bytes + 10**9,
        time_limit_s=1800.0,
    )


def _native(model: ModelName) -> FitCase:
    emulated = next(case for case in _EMULATED if case.name == f"fit-16gb-{SIZE_NAMES[model]}")
    return replace(
        emulated,
        name=f"fit-native-16gb-{SIZE_NAMES[model]}",
        reason="the same on a card that really has no more",
        native=True,
        minimum_memory=_REAL,
    )


_EMULATED = tuple(_fit(gigabytes, index) for gigabytes in _VALUES for index in reversed(range(len(MODELS))))
_REAL = 14 * 10**9
"""Least memory of what is sold as a card of 16 GB."""
FIT = (*_EMULATED, *(_native(model) for model in reversed(MODELS)))

_BATCHES: dict[ModelName, dict[str, int]] = {
    "gpt2": {"fp32": 8, "amp": 24, "checkpointing": 96, "16-bit-weights": 192},
    "gpt2-medium": {"fp32": 4, "amp": 8, "checkpointing": 48, "16-bit-weights": 128},
    "gpt2-large": {"fp32": 1, "amp": 2, "checkpointing": 16, "16-bit-weights": 64},
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
