"""The memory that computed and predicted steps need with each option, by PyTorch's own counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from gpu_bench.experiments.hybrid.schedule import Phase, Schedule
from gpu_bench.experiments.hybrid.trainer import HybridTrainer, LossOf
from gpu_bench.measure.memory import storage_bytes
from gpu_bench.measure.trace import events_of

SHORT = Schedule(warmup_steps=3, full_steps=2, max_predict_steps=4, confidence_threshold=0, correction_interval=2)
"""A schedule with every phase, and every change from one phase to another, within `STEPS`."""
STEPS, UNCOUNTED = 10, 2
"""The first steps make the optimizer's state and are not counted."""
_STEP = "hybrid step "


def peaks(trainer: HybridTrainer, following: Callable[[], Sequence[LossOf]]) -> dict[str, Any]:
    """Train a new trainer, with the schedule `SHORT`, for `STEPS` and note the peak of each step.

    Returns bytes of the device: the largest peaks of `computed` steps and of `predicted` ones (None without any); and
    what was `elsewhere`, in host memory. On a CPU that is the same memory, so these bytes are subtracted from the
    peaks.
    """
    phases: list[Phase] = []
    away: list[int] = []

    def step() -> None:
        losses = following()
        phases.append(trainer.phase)
        away.append(trainer.offloaded_bytes)
        trainer.step(*losses)

    device = next(trainer.model.parameters()).device
    if device.type == "cuda":
        found = _on_gpu(step, device)
    else:
        found = [peak - off for peak, off in zip(_on_cpu(step, trainer), away, strict=True)]
    counted = list(zip(phases, found, strict=True))[UNCOUNTED:]
    return {
        "computed": max(peak for phase, peak in counted if phase != "predict"),
        "predicted": max((peak for phase, peak in counted if phase == "predict"), default=None),
        "elsewhere": max(away),
    }


def _on_gpu(step: Callable[[], None], device: torch.device) -> list[int]:
    """The allocator's peak of each step."""
    found = []
    for _ in range(STEPS):
        torch.cuda.reset_peak_memory_stats(device)
        step()
        found.append(torch.cuda.max_memory_allocated(device))
    return found


def _on_cpu(step: Callable[[], None], trainer: HybridTrainer) -> list[int]:
    """The same from the profiler's record of every allocation.

    One record covers all steps, because it lacks the freeing of memory that was allocated before it began. Before the
    first step only the model has memory, and keeps it.
    """
    alive = storage_bytes([*trainer.model.parameters(), *trainer.model.buffers()])
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        for index in range(STEPS):
            with record_function(f"{_STEP}{index}"):
                step()
    events = events_of(profiler)
    ends = sorted(one["ts"] + one["dur"] for one in events if str(one.get("name")).startswith(_STEP))
    found = [alive] * STEPS
    at = 0
    for moment, size in sorted((one["ts"], one["args"]["Bytes"]) for one in events if one.get("name") == "[memory]"):
        while at < STEPS and moment > ends[at]:
            at += 1
            found[min(at, STEPS - 1)] = alive
        alive += size
        if at < STEPS:
            found[at] = max(found[at], alive)
    return found
