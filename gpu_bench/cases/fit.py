"""Suite 10: what fits 8 to 80 GB, at four sizes, policy after policy. Memory is emulated, speed is the real card's."""

from __future__ import annotations

from engine.hardware.accelerators import accelerator
from gpu_bench.cases.base import MODELS, SIZE_NAMES
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


FIT = tuple(_fit(gigabytes, index) for gigabytes in _VALUES for index in reversed(range(len(MODELS))))
