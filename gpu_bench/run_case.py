"""One repeat of one case, in the process that was started for it: train, time, and in the first repeat count memory."""

from __future__ import annotations

import gc
import itertools
import math
import statistics
import time
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from gpu_bench import memory, peaks, provenance
from gpu_bench.cases import Case
from gpu_bench.data import TOKENIZER, draw_windows, read_corpus
from gpu_bench.device import describe, open_nvml
from gpu_bench.flops import step_flops
from gpu_bench.nvml import ABNORMAL, Gpu
from gpu_bench.quiet import OthersWatch
from gpu_bench.training import Trainer

STEADY = {"cuda": 0.01, "cpu": 0.05}
"""Warm-up ends when the last five steps vary less than this (coefficient of variation)."""
_LONGEST_WARMUP = 4
"""... or after this many times the case's warm-up steps."""
_SHORTEST_ENERGY_RUN_S = 30.0
"""NVML's energy counter is refreshed about ten times a second, and power needs seconds to settle."""


@dataclass(frozen=True)
class Timing:
    """Seconds of every step, and the losses in nats per token from the very first step on.

    settled: whether the warm-up ended because steps had become steady.
    gpu_samples: the GPU's state under load.
    energy_j: energy of the timed steps in J; None when they took too short a time to say.
    others_share: share of the machine's processor time that others took during the timed steps.
    """

    warmup_s: list[float]
    step_s: list[float]
    losses: list[float | None]
    settled: bool
    gpu_samples: list[dict[str, Any]]
    energy_j: float | None
    others_share: float | None


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Train the case once and return everything measured as plain data.

    Args:
        case: What to train.
        device: Where.
        repeat: Which repeat this is. The first one also counts memory and measures the matrix ceiling, afterwards.
    """
    started, load = provenance.utc_now(), provenance.load_average()
    corpus = read_corpus()
    most = _LONGEST_WARMUP * case.warmup + case.steps + 1
    windows = draw_windows(corpus, most, case.batch, case.sequence, case.seed)
    if device.type == "cuda":
        windows = windows.pin_memory()
    trainer = Trainer(case, device)
    gpu = open_nvml(device)

    gc.collect()
    gc.disable()
    timing, cuda_memory = _train(trainer, windows, gpu)
    gc.enable()

    config, parameters = trainer.model.config, trainer.model.parameter_count()
    multiplied = parameters - config.max_seq * config.hidden
    part: dict[str, Any] = {
        "status": "ok",
        "message": None,
        "model": {"parameters": parameters, **asdict(config)},
        "data": {
            "source": "source code of the Python standard library",
            "sha256": corpus.sha256,
            "bytes": len(corpus.tokens),
            "files": corpus.files,
            "tokenizer": TOKENIZER,
        },
        "flops": asdict(step_flops(multiplied, config.layers, config.hidden, case.sequence, case.batch)),
        "timing": asdict(timing),
        "load_average": load,
        "started": started,
    }
    reasons = {reason for sample in timing.gpu_samples for reason in sample["throttle_reasons"] or ()}
    if ABNORMAL & reasons:
        part |= {"status": "throttled", "message": f"the GPU was throttled: {', '.join(sorted(ABNORMAL & reasons))}"}
    if repeat == 0:
        part["memory"] = _count_memory(trainer, windows[-1], cuda_memory)
        del trainer
        if device.type == "cuda":
            torch.cuda.empty_cache()
        part["peaks"] = {
            "specified": peaks.specified_peak(describe(device).name, case.precision),
            "matmul": peaks.matmul_ceiling(device, case.precision),
        }
    part["finished"] = provenance.utc_now()
    return part


def _train(trainer: Trainer, windows: Tensor, gpu: Gpu | None) -> tuple[Timing, dict[str, int | None] | None]:
    """Warm up, then run the timed steps. Returns the timing and the CUDA allocator's counters."""
    case, device = trainer.case, trainer.device
    losses: list[Tensor] = []
    warmup: list[float] = []
    first_peak: int | None = None
    settled = False
    while not settled and len(warmup) < _LONGEST_WARMUP * case.warmup:
        began = time.perf_counter()
        losses.append(trainer.step(trainer.load(windows[len(losses)])))
        if device.type == "cuda":
            torch.cuda.synchronize(device)
            first_peak = first_peak or torch.cuda.max_memory_allocated(device)
        warmup.append(round(time.perf_counter() - began, 9))
        settled = len(warmup) >= max(case.warmup, 5) and _variation(warmup[-5:]) < STEADY[device.type]

    timed = windows[len(losses) : len(losses) + case.steps]
    samples: list[dict[str, Any]] = []
    energy: float | None = None
    watch = OthersWatch()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        seconds, energy = _timed_cuda(trainer, timed, losses, gpu, samples)
    else:
        seconds = _timed_cpu(trainer, timed, losses)
    others = watch.share()
    cuda_memory = _cuda_memory(device, gpu, first_peak) if device.type == "cuda" else None
    # JSON has no NaN: a diverged loss is null.
    curve = [round(loss, 6) if math.isfinite(loss) else None for loss in torch.stack(losses).float().tolist()]
    timing = Timing(warmup, [round(second, 9) for second in seconds], curve, settled, samples, energy, others)
    return timing, cuda_memory


def _timed_cpu(trainer: Trainer, windows: Tensor, losses: list[Tensor]) -> list[float]:
    seconds: list[float] = []
    for window in windows:
        began = time.perf_counter()
        losses.append(trainer.step(trainer.load(window)))
        seconds.append(time.perf_counter() - began)
    return seconds


def _timed_cuda(
    trainer: Trainer, windows: Tensor, losses: list[Tensor], gpu: Gpu | None, samples: list[dict[str, Any]]
) -> tuple[list[float], float | None]:
    """Time with events on the device's own clock: the host runs ahead and waits once, at the end.

    Returns:
        Seconds per step, and the energy of all of them in J when they took long enough for the counter.
    """
    marks = [
        torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        for _ in range(len(windows) + 1)
    ]
    before = gpu.energy_j() if gpu else None
    began = time.perf_counter()
    marks[0].record()
    for index, window in enumerate(windows):
        losses.append(trainer.step(trainer.load(window)))
        marks[index + 1].record()
        if gpu and index in (len(windows) // 2, len(windows) - 1):
            # Steps are still queued on the device, so this is its state under load.
            samples.append(asdict(gpu.sample()))
    torch.cuda.synchronize()
    elapsed = time.perf_counter() - began
    after = gpu.energy_j() if gpu else None
    long_enough = before is not None and after is not None and elapsed >= _SHORTEST_ENERGY_RUN_S
    seconds = [start.elapsed_time(end) / 1000 for start, end in itertools.pairwise(marks)]
    return seconds, (after or 0) - (before or 0) if long_enough else None


def _variation(seconds: list[float]) -> float:
    """Coefficient of variation."""
    return statistics.stdev(seconds) / statistics.fmean(seconds)


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
    held = memory.held_memory(trainer, loaded)
    tracked = memory.track_step(trainer, loaded)
    if cuda_memory is not None:
        peak, allowance = cuda_memory["allocated_peak"] or 0, memory.CUDA_WORKSPACE
        source = "CUDA caching allocator over the timed steps"
    else:
        peak, allowance = memory.cpu_allocator_peak(lambda: trainer.step(loaded), tracked.at_rest), 0
        source = "PyTorch CPU allocator over one profiled step"
    return {
        "held": {**asdict(held), "optimizer_total": sum(held.optimizer.values())},
        "at_peak": {**tracked.at_peak, "remainder": peak - sum(tracked.at_peak.values())},
        "peak": peak,
        "peak_source": source,
        "tolerance": int(memory.REMAINDER_SHARE * peak) + allowance,
        "cuda": cuda_memory,
    }
