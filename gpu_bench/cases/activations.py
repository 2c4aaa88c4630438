"""Suite 8: activation functions, alone and in training, on a CPU and on a GPU."""

from __future__ import annotations

from typing import get_args

from gpu_bench.cases.base import SIZE_NAMES, alone, on_gpu
from gpu_bench.cases.case import Activation, Case, TrainingCase

IN_TRAINING: tuple[Activation, ...] = ("gelu", "relu")
"""One that keeps its input for the backward pass, and one that keeps its result."""
FUNCTIONS: tuple[Activation, ...] = get_args(Activation)


def _in_nano(function: Activation) -> TrainingCase:
    return TrainingCase(
        name=f"activation-nano-{function}",
        value=35,
        reason="on a CPU the transcendental functions cost more than a memory pass",
        model="nano",
        precision="fp32",
        optimizer="adamw",
        learning_rate=1e-3,
        batch=8,
        sequence=128,
        activation=function,
    )


ACTIVATIONS: tuple[Case, ...] = (
    alone(
        "activation",
        "small",
        50,
        "on every machine: what a function costs on a CPU",
        variants=FUNCTIONS,
        sizes=(2**16, 2**20, 2**22),
        formats=("fp32",),
    ),
    alone(
        "activation",
        "large",
        58,
        "beyond every cache: on a GPU all functions take as long as their bytes",
        variants=FUNCTIONS,
        sizes=(2**20, 2**24, 2**28),
        formats=("fp32", "bf16"),
        device="cuda",
    ),
    *(
        on_gpu(
            f"activation-{SIZE_NAMES['gpt2']}-{function}",
            "gpt2",
            48,
            "what is left of the difference in a whole step; ReLU keeps its result, the smooth functions their input",
            batch=16,
            activation=function,
        )
        for function in IN_TRAINING
    ),
    *(_in_nano(function) for function in IN_TRAINING),
)
