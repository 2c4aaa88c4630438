"""One repeat of a training case, in the process that was started for it: train, time, and first of all count memory."""

from __future__ import annotations

import gc
import math
import statistics
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.machine import provenance
from gpu_bench.machine.chips import compute_format, format_peak
from gpu_bench.machine.device import describe, open_nvml
from gpu_bench.machine.nvml import ABNORMAL, Gpu
from gpu_bench.machine.quiet import OthersWatch
from gpu_bench.measure import clock, compile_cache, memory
from gpu_bench.measure.course import Course, split
from gpu_bench.measure.data import CACHE, draw_windows, read_corpus
from gpu_bench.measure.memory import limit_memory
from gpu_bench.measure.peaks import matmul_ceiling
from gpu_bench.measure.training import Trainer

COMPILED = CACHE / "compiled"
"""Where compiled code waits for the next process, or travels from for another machine."""


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Train the case once and return everything measured as plain data.

    Args:
        case: What to train.
        device: Where.
        repeat: Which repeat this is. The first one also counts memory and measures energy and the matrix ceiling,
            afterwards.
    """
    assert isinstance(case, TrainingCase)
    started, load = provenance.utc_now(), provenance.load_average()
    context = limit_memory(device, case.memory_limit) if case.memory_limit and device.type == "cuda" else None
    if case.allocator == "expandable" and device.type == "cuda":
        # Before the first allocation; PyTorch reads its environment only once, and maybe has.
        torch.cuda.memory._set_allocator_settings("expandable_segments:True")
    cache = compile_cache.cache_file(COMPILED, case.name)
    if case.compile != "none":
        compile_cache.load(cache)
    trainer = Trainer(case, device)
    config = trainer.model.config
    corpus = read_corpus(vocabulary=config.vocab)
    course: Course | None = None
    if case.validate_every:
        corpus, held_back = split(corpus)
        course = Course(trainer, held_back)
    windows = draw_windows(corpus, clock.most_windows(case), case.batch * case.accumulate, case.sequence, case.seed)
    if device.type == "cuda":
        windows = windows.pin_memory()
    gpu = open_nvml(device)

    gc.collect()
    gc.disable()
    timing, cuda_memory = _train(trainer, windows, gpu, course)
    gc.enable()
    if case.compile != "none" and repeat == 0:
        compile_cache.save(cache)

    part: dict[str, Any] = {
        "status": "ok",
        "message": None,
        "model": {"parameters": trainer.model.parameter_count(), **asdict(config)},
        "data": corpus.as_dict(),
        "timing": timing,
        "course": course.as_dict(timing["losses"]) if course else None,
        "load_average": load,
        "started": started,
    }
    part |= {"context": context, "peak": cuda_memory["allocated_peak"] if cuda_memory else None}
    if case.memory_limit and device.type == "cpu":
        part["peak"] = _peak_within(case.memory_limit, trainer, windows[-1])
    reasons = {reason for sample in timing["gpu_samples"] for reason in sample["throttle_reasons"] or ()}
    if ABNORMAL & reasons:
        part |= {"status": "throttled", "message": f"the GPU was throttled: {', '.join(sorted(ABNORMAL & reasons))}"}
    if repeat == 0:
        step_s = statistics.median(timing["step_s"])
        part["energy"] = clock.measure_energy(trainer, windows[-1], gpu, step_s, case.energy_s)
        part["memory"] = _count_memory(trainer, windows[-1], cuda_memory)
        del trainer
        # A reference cycle, which only the garbage collector frees; a model may nearly fill the GPU.
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()
        part["peaks"] = measure_peaks(case, device)
    part["finished"] = provenance.utc_now()
    return part


def _peak_within(limit: int, trainer: Trainer, window: Tensor) -> int:
    """The peak of a step on a CPU, in bytes. Raises `MemoryError` when the emulated card does not have so much."""
    loaded = trainer.load(window)
    peak = memory.cpu_allocator_peak(lambda: trainer.step(loaded), memory.resting_bytes(trainer, loaded))
    if peak > limit:
        raise MemoryError(f"the step needs {peak} B by the allocator's own count; the emulated card has {limit} B")
    return peak


def measure_peaks(case: TrainingCase, device: torch.device) -> dict[str, float | str | None]:
    """Data sheet and measured product for the case's format; for FP8, which runs part of the products, also BF16's."""
    own, name = compute_format(case.precision), describe(device).name
    main = "bf16" if own == "fp8" else own
    peaks: dict[str, float | str | None] = {
        "format": main,
        "specified": format_peak(name, main),
        "matmul": matmul_ceiling(device, main),
        "specified_fp8": format_peak(name, "fp8") if own == "fp8" else None,
        "matmul_fp8": matmul_ceiling(device, "fp8") if own == "fp8" else None,
    }
    return peaks


def _train(
    trainer: Trainer, windows: Tensor, gpu: Gpu | None, course: Course | None
) -> tuple[dict[str, Any], dict[str, int | None] | None]:
    """Warm up, then run the timed steps. Returns the timing and the CUDA allocator's counters."""
    case, device = trainer.case, trainer.device
    losses: list[Tensor] = []
    warmup = clock.warm_up(trainer, iter(windows).__next__, losses)
    watch = OthersWatch()
    timed = clock.time_steps(trainer, windows[len(losses) : len(losses) + case.steps], losses, gpu, course)
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
        "step_s": timed.seconds,
        "losses": curve,
        "gpu_samples": timed.gpu_samples,
        "others_share": others,
    }
    return timing, cuda_memory


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
        peak, allowance = cuda_memory["allocated_peak"] or 0, memory.CUDA_WORKSPACE
        source = "CUDA caching allocator over the timed steps"
    else:
        at_rest = tracked.at_rest if tracked else memory.resting_bytes(trainer, loaded)
        peak, allowance = memory.cpu_allocator_peak(lambda: trainer.step(loaded), at_rest), 0
        source = "PyTorch CPU allocator over one profiled step"
    at_peak = tracked.at_peak if tracked else memory.compiled_components(trainer, loaded, peak)
    return {
        "held": {**asdict(held), "optimizer_total": sum(held.optimizer.values())},
        "at_peak": {**at_peak, "remainder": peak - sum(at_peak.values())},
        "peak": peak,
        "peak_source": source,
        "tolerance": int(memory.REMAINDER_SHARE * peak) + allowance,
        "cuda": cuda_memory,
    }
