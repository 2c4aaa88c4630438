"""Attention alone, forward and backward apart, over sequence lengths."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import sdpa_kernel

from gpu_bench.cases.case import Case
from gpu_bench.cases.kinds import PASSES, AttentionCase
from gpu_bench.cases.planned import PlannedPoint
from gpu_bench.machine import provenance
from gpu_bench.machine.device import open_nvml
from gpu_bench.machine.nvml import Monitor, abnormal, summary
from gpu_bench.measure.gpt2 import KERNELS
from gpu_bench.measure.stopwatch import Stopwatch
from gpu_bench.measure.unsupported import kind_of, told

FORMATS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_WARMUP = 3


Function = Callable[[tuple[Tensor, ...]], Tensor]
"""The operation on its inputs."""


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Time every variant in every format at every size, forward and backward; all repeats are alike."""
    assert isinstance(case, AttentionCase)
    torch.set_float32_matmul_precision("highest")
    torch.manual_seed(case.seed)
    points: list[dict[str, Any]] = []
    gc.disable()
    with Monitor(open_nvml(device)) as monitor:
        planned = case.points()
        # Both passes of a setting are timed together.
        for first in range(0, len(planned), len(PASSES)):
            points += _points(case, planned[first : first + len(PASSES)], device)
    gc.enable()
    state = summary(monitor.samples)
    # The GPU's clock changes with what runs, so only a reason that the driver gives counts as slowing down.
    slowed = abnormal(state)
    status = "throttled" if slowed else "ok"
    return {"status": status, "message": slowed, "points": points, "timing": {"gpu": state}}


def _points(case: AttentionCase, planned: Sequence[PlannedPoint], device: torch.device) -> list[dict[str, Any]]:
    """The forward and the backward point of a setting; without samples where the device cannot do it."""
    status: str = "ok"
    message: str | None = None
    samples: dict[str, list[float]] = {one: [] for one in PASSES}
    peaks: dict[str, int | None] = dict.fromkeys(PASSES)
    try:
        samples, peaks = _measure(case, planned[0].settings, device)
    except (MemoryError, RuntimeError) as error:
        kind = kind_of(error)
        if kind is None:
            raise
        status, message = kind, provenance.redact(told(error))
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return [
        {
            "label": point.label,
            "settings": dict(point.settings),
            "status": status,
            "message": message,
            "samples_s": samples[one],
            "memory_peak": peaks[one],
        }
        for one, point in zip(PASSES, planned, strict=True)
    ]


def _measure(
    case: AttentionCase, setting: Mapping[str, Any], device: torch.device
) -> tuple[dict[str, list[float]], dict[str, int | None]]:
    """Seconds of every round by pass, and bytes that a pass added at its fullest (None on a CPU)."""
    dtype = FORMATS[setting["format"]]
    shape = (case.batch, case.heads, setting["size"], case.head_size)
    function = attention(setting["variant"], setting["size"], device)
    inputs = tuple(torch.randn(shape, device=device, dtype=dtype, requires_grad=True) for _ in range(3))
    gradient = torch.randn(shape, device=device, dtype=dtype)
    kernels = KERNELS.get(setting["variant"], ())
    with sdpa_kernel(list(kernels)) if kernels else nullcontext():
        peaks = _peaks(function, inputs, gradient, device)
        for _ in range(_WARMUP):
            _round(function, inputs, gradient, lambda: None)
        seconds = _timed(case.rounds, function, inputs, gradient, device)
    return seconds, peaks


def attention(variant: str, sequence: int, device: torch.device) -> Function:
    """Causal attention: `standard` with its scores in memory, as GPT-2 is spelled out; else by a fused kernel."""
    if variant != "standard":
        return lambda qkv: functional.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], is_causal=True)
    future = torch.ones(sequence, sequence, dtype=torch.bool, device=device).triu(1)  # (T, T)

    def standard(qkv: tuple[Tensor, ...]) -> Tensor:
        q, k, v = qkv  # (B, H, T, D) each
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(q.shape[-1]))  # (B, H, T, T)
        return functional.softmax(scores.masked_fill(future, float("-inf")), dim=-1) @ v  # (B, H, T, D)

    return standard


def _round(function: Function, inputs: tuple[Tensor, ...], gradient: Tensor, between: Callable[[], None]) -> None:
    """Forward, a mark, backward; gradients are dropped, so that none is added to the one before."""
    out = function(inputs)
    between()
    out.backward(gradient)  # type: ignore[no-untyped-call]
    for one in inputs:
        one.grad = None


def _peaks(
    function: Function, inputs: tuple[Tensor, ...], gradient: Tensor, device: torch.device
) -> dict[str, int | None]:
    """One untimed round that watches the allocator; it also loads the kernels."""
    if device.type != "cuda":
        return dict.fromkeys(PASSES)
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    found: list[int] = []

    def look() -> None:
        found.append(torch.cuda.max_memory_allocated(device) - before)
        torch.cuda.reset_peak_memory_stats(device)

    _round(function, inputs, gradient, look)
    look()
    return dict(zip(PASSES, found, strict=True))


def _timed(
    rounds: int, function: Function, inputs: tuple[Tensor, ...], gradient: Tensor, device: torch.device
) -> dict[str, list[float]]:
    """Seconds of every round's passes."""
    watches = [Stopwatch(device) for _ in range(rounds)]
    for watch in watches:
        watch.mark()
        _round(function, inputs, gradient, watch.mark)
        watch.mark()
    seconds = [watch.seconds() for watch in watches]
    return {one: [round(times[index], 9) for times in seconds] for index, one in enumerate(PASSES)}
