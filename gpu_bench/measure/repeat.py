"""One repeat of a training case, in the process that was started for it: train, time, and first of all count memory."""

from __future__ import annotations

import gc
import itertools
import math
import statistics
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.cases.sizes import product_shapes
from gpu_bench.machine import provenance
from gpu_bench.machine.chips import compute_format
from gpu_bench.machine.device import open_nvml
from gpu_bench.machine.nvml import Gpu
from gpu_bench.machine.quiet import OthersWatch
from gpu_bench.measure import clock, memory
from gpu_bench.measure.course import Course, split
from gpu_bench.measure.data import read_corpus, window_stream
from gpu_bench.measure.memory import limit_memory
from gpu_bench.measure.roofline import SQUARE, matmul_ceilings
from gpu_bench.measure.trace import attention_kernels
from gpu_bench.measure.training import Trainer
from gpu_bench.record.judgement import diverged_at, judged


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Train the case once and return everything measured as plain data.

    The first repeat also counts memory, names the attention kernel, and measures energy and the ceilings, afterwards.
    """
    assert isinstance(case, TrainingCase)
    context = limit_memory(device, case.memory_limit) if case.memory_limit and device.type == "cuda" else None
    if case.allocator == "expandable" and device.type == "cuda":
        # Set before the first allocation. PyTorch reads its environment only once, perhaps already.
        torch.cuda.memory._set_allocator_settings("expandable_segments:True")
    trainer = Trainer(case, device)
    config = trainer.model.config
    corpus = read_corpus(vocabulary=config.vocab)
    course: Course | None = None
    if case.validate_every:
        corpus, held_back = split(corpus)
        course = Course(trainer, held_back)
    windows = window_stream(
        corpus, case.batch * case.accumulate, case.sequence, case.seed, pinned=device.type == "cuda"
    )
    window = next(windows)
    gpu = open_nvml(device)

    gc.collect()
    gc.disable()
    timing, cuda_memory, others = _train(trainer, itertools.chain([window], windows), gpu, course)
    gc.enable()

    status, message = judged(case, {**timing, "diverged_at": diverged_at(case, timing["losses"])})
    part: dict[str, Any] = {
        "status": status,
        "message": message,
        "model": {"parameters": trainer.model.parameter_count()},
        "data": corpus.as_dict(),
        "timing": timing,
        "others_share": others,
        "course": course.as_dict() if course else None,
    }
    part |= {"context": context, "peak": cuda_memory["allocated_peak"] if cuda_memory else None}
    if case.memory_limit and device.type == "cpu":
        part["peak"] = _peak_within(case.memory_limit, trainer, window)
    if repeat == 0:
        step_s = statistics.median(timing["step_s"])
        part["energy"] = clock.measure_energy(trainer, window, gpu, step_s, case.energy_s)
        part["memory"] = _count_memory(trainer, window, cuda_memory)
        loaded = trainer.load(window)
        part["attention_ran"] = (
            ["standard"] if case.attention == "standard" else attention_kernels(lambda: trainer.step(loaded), device)
        )
        del trainer
        # A reference cycle, which only the garbage collector frees; a model may nearly fill the GPU.
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()
        part["ceilings"] = measured_ceilings(case, device)
    return part


def _peak_within(limit: int, trainer: Trainer, window: Tensor) -> int:
    """The peak of a step on a CPU, in bytes. Raises `MemoryError` when the emulated card does not have so much."""
    loaded = trainer.load(window)
    peak = memory.cpu_allocator_peak(lambda: trainer.step(loaded), memory.resting_bytes(trainer, loaded))
    if peak > limit:
        raise MemoryError(f"the step needs {peak} B by the allocator's own count; the emulated card has {limit} B")
    return peak


def measured_ceilings(case: TrainingCase, device: torch.device) -> list[dict[str, Any]]:
    """Measured products in the case's format; for FP8, which runs part of the products, also in BF16."""
    own, shapes = compute_format(case.precision), product_shapes(case, SQUARE[device.type])
    formats = ("bf16", "fp8") if own == "fp8" else (own,)
    return [one for form in formats for one in matmul_ceilings(device, form, shapes)]


def _train(
    trainer: Trainer, windows: Iterator[Tensor], gpu: Gpu | None, course: Course | None
) -> tuple[dict[str, Any], dict[str, int | None] | None, float | None]:
    """Warm up, then run the timed steps. Returns the timing, the CUDA allocator's counters, and what others took."""
    device = trainer.device
    losses: list[Tensor] = []
    warmup = clock.warm_up(trainer, windows, losses)
    watch = OthersWatch()
    usual_s = statistics.median(warmup.seconds[-5:])
    timed = clock.time_steps(trainer, windows, losses, gpu, usual_s, course)
    others = watch.share()
    cuda_memory = _cuda_memory(device, gpu, warmup.first_peak) if device.type == "cuda" else None
    # JSON has no NaN: a diverged loss is null.
    curve = [round(loss, 6) if math.isfinite(loss) else None for loss in torch.stack(losses).float().tolist()]
    timing = {
        "warmup_s": warmup.seconds,
        "settled": warmup.settled,
        "compile_s": warmup.compile_s,
        "graphs": warmup.graphs,
        "graphs_while_timed": timed.graphs,
        "fallbacks": [provenance.redact(line)[:1000] for line in trainer.fallbacks],
        "step_s": timed.seconds,
        "losses": curve,
        "gpu": timed.gpu,
    }
    return timing, cuda_memory, others


def _cuda_memory(device: torch.device, gpu: Gpu | None, first_peak: int | None) -> dict[str, int | None]:
    """What the CUDA allocator counted over the timed steps, and what the driver sees of this process, in bytes."""
    stats = torch.cuda.memory_stats(device)
    process = gpu.process_memory() if gpu else None
    return {
        "allocated_peak": stats["allocated_bytes.all.peak"],
        "active_peak": stats["active_bytes.all.peak"],
        "reserved_peak": stats["reserved_bytes.all.peak"],
        "first_step_peak": first_peak,
        "process": process,
        "context": None if process is None else process - stats["reserved_bytes.all.current"],
        "retries": stats["num_alloc_retries"],
        "ooms": stats["num_ooms"],
    }


def _count_memory(trainer: Trainer, window: Tensor, cuda_memory: dict[str, int | None] | None) -> dict[str, Any]:
    """Memory by component. On CUDA the peak is that of the timed steps, on a CPU that of one more, profiled step."""
    loaded = trainer.load(window)
    held = memory.held_memory(trainer, loaded[: trainer.case.batch])
    tracked = None if trainer.compiled else memory.track_step(trainer, loaded)
    if cuda_memory is not None:
        peak = cuda_memory["allocated_peak"] or 0
    else:
        at_rest = tracked.at_rest if tracked else memory.resting_bytes(trainer, loaded)
        peak = memory.cpu_allocator_peak(lambda: trainer.step(loaded), at_rest)
    at_peak = tracked.at_peak if tracked else memory.compiled_components(trainer, loaded, peak)
    return {"held": asdict(held), "at_peak": at_peak, "peak": peak, "cuda": cuda_memory}
