"""What a training step cannot do without: bytes of weights and states, seconds of products and of the update."""

from __future__ import annotations

from collections.abc import Callable

from gpu_bench.cases.case import NARROW, TrainingCase
from gpu_bench.cases.sizes import SIZES
from gpu_bench.machine.chips import compute_format
from gpu_bench.predict.prediction import shape_of
from gpu_bench.record.derive import training_flops

CACHED_BYTES = 2**30
"""Traffic below this may stay in a cache, which is faster than the memory behind it."""
_SLACK, _GRANULE = 1.02, 512
"""What allocators add: a CUDA allocator rounds each tensor up to 512 bytes."""


def weight_bytes(case: TrainingCase) -> int:
    """Bytes of the parameters."""
    width = 2 if case.precision in NARROW else 4
    return shape_of(case, padded=True).parameters * width


def rounded(size: int, case: TrainingCase) -> float:
    """The most that vectors of so many bytes, one for each tensor of the model, take once rounded up."""
    return size * _SLACK + _GRANULE * 16 * (SIZES[case.model].layers + 1)


def state_bytes(case: TrainingCase) -> int:
    """The fewest bytes of the optimizer's state, and of the copy of the weights that it goes on from."""
    vectors = {"sgd": 0, "momentum": 1}.get(case.optimizer, 2)
    width = 1 if case.optimizer == "adamw-8bit" else 4
    master = 4 if case.precision.endswith("-master") else 0
    return shape_of(case, padded=True).parameters * (vectors * width + master)


def kept_bytes(case: TrainingCase) -> int:
    """The fewest bytes kept for the backward pass: what enters each block."""
    size = SIZES[case.model]
    return case.batch * case.sequence * size.hidden * size.layers


def peak_bytes(case: TrainingCase) -> int:
    """The fewest bytes of a step at its fullest."""
    weights, states = weight_bytes(case), state_bytes(case)
    gradients = 0 if case.optimizer_in_backward else weights
    return weights + states + max(gradients, kept_bytes(case))


def step_seconds(case: TrainingCase, flops_per_s: Callable[[str], float], bytes_per_s: float) -> float:
    """The least time of a step: its products, by the fastest in each format, and then the update.

    The update reads and writes weights and states at the memory's rate.
    """
    flops, own = training_flops(case), compute_format(case.precision)
    eight = flops["fp8_per_step"]
    products = (flops["model_per_step_causal"] - eight) / flops_per_s("bf16" if own == "fp8" else own)
    products += eight / flops_per_s("fp8") if eight else 0.0
    moved = 3 * weight_bytes(case) + 2 * state_bytes(case)
    return products + (moved / bytes_per_s if moved > CACHED_BYTES and not case.optimizer_in_backward else 0.0)
