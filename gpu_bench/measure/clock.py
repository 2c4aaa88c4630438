"""The clock of a repeat: warm up until nothing is compiled and times are steady, then time every step."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._dynamo.utils import counters

from gpu_bench.cases.case import SHORTEST_ENERGY_S
from gpu_bench.machine.nvml import Gpu, Monitor, summary
from gpu_bench.measure.course import Course
from gpu_bench.measure.stopwatch import Stopwatch
from gpu_bench.measure.training import Trainer
from gpu_bench.record.spread import LAST, LONGEST_WARMUP, STEADY, narrow, variation

_MOST_IN_BLOCK = 1000
_BLOCK_S = 2.0
"""Steps are timed in blocks of about this long: the host waits for the device between two blocks, never inside one."""


@dataclass(frozen=True)
class Warmup:
    """What happened before the clock started."""

    seconds: list[float]  # Of every step
    settled: bool  # Whether it ended because steps had become steady and nothing was compiled any more
    # Seconds that steps in which something was compiled took longer than the last ones; None when nothing was compiled.
    # The first step's other costs, such as creating the optimizer's state, are in it
    compile_s: float | None
    graphs: int  # Graphs that were compiled
    first_peak: int | None  # The CUDA allocator's peak in the first step, in bytes


@dataclass(frozen=True)
class Timed:
    """The timed steps."""

    seconds: list[float]  # Of every step
    gpu: dict[str, Any] | None  # The GPU's state under load, as `nvml.summary` gives it; None without a GPU
    graphs: int  # Graphs compiled meanwhile, which spoils times: none after a warm-up that settled


def warm_up(trainer: Trainer, windows: Iterator[Tensor], losses: list[Tensor]) -> Warmup:
    """Train until steps are steady and the case's warm-up has passed, at most `LONGEST_WARMUP` times as long."""
    case, device = trainer.case, trainer.device
    seconds: list[float] = []
    compiling: list[bool] = []
    first_peak: int | None = None
    before = graphs = _graphs()
    settled = False
    warm_s = 0.0
    while not settled and (len(seconds) < LONGEST_WARMUP * case.warmup or warm_s < LONGEST_WARMUP * case.warm_s):
        began = time.perf_counter()
        losses.append(trainer.step(trainer.load(next(windows))))
        if device.type == "cuda":
            torch.cuda.synchronize(device)
            first_peak = first_peak or torch.cuda.max_memory_allocated(device)
        seconds.append(round(time.perf_counter() - began, 9))
        compiling.append(_graphs() > graphs)
        graphs = _graphs()
        # Seconds of compiling do not warm a device.
        warm_s = 0.0 if compiling[-1] else warm_s + seconds[-1]
        quiet = not any(compiling[-LAST:])
        enough = len(seconds) >= max(case.warmup, LAST) and warm_s >= case.warm_s
        settled = enough and quiet and variation(seconds[-LAST:]) < STEADY[device.type]
    usual = statistics.median(seconds[-LAST:])
    extra = [second - usual for second, compiled in zip(seconds, compiling, strict=True) if compiled]
    compile_s = round(max(sum(extra), 0.0), 9) if extra else None
    return Warmup(seconds, settled, compile_s, graphs - before, first_peak)


def time_steps(
    trainer: Trainer,
    windows: Iterator[Tensor],
    losses: list[Tensor],
    gpu: Gpu | None,
    usual_s: float,
    course: Course | None = None,
) -> Timed:
    """Time the case's steps, and more until its seconds are over or its median is known well enough.

    A step takes `usual_s` seconds, as warm-up found. Each step's loss is added to `losses`, still on the device. A
    course notes gradient norms and validates between two steps, untimed.
    """
    case, before = trainer.case, _graphs()
    if trainer.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(trainer.device)
    seconds: list[float] = []
    with Monitor(gpu) as monitor:
        while len(seconds) < case.steps or (sum(seconds) < case.timed_s and not narrow(seconds)):
            count = max(case.steps - len(seconds), min(math.ceil(_BLOCK_S / usual_s), _MOST_IN_BLOCK))
            count = count if case.timed_s else case.steps
            seconds += _block(trainer, windows, losses, count, len(seconds), course)
    return Timed(seconds, summary(monitor.samples), _graphs() - before)


def _block(
    trainer: Trainer, windows: Iterator[Tensor], losses: list[Tensor], count: int, done: int, course: Course | None
) -> list[float]:
    """Seconds of so many steps after those done; the host waits once, at their end, unless a course validates."""
    watch = Stopwatch(trainer.device)
    watch.mark()
    marks, ends = 1, []
    for index in range(done, done + count):
        losses.append(trainer.step(trainer.load(next(windows))))
        watch.mark()
        marks += 1
        ends.append(marks)
        if course:
            course.note()
            if course.due(index + 1):
                course.validate()
                watch.mark()
                marks += 1
    # Between the marks m - 1 and m lies the interval m - 2.
    between = watch.seconds()
    return [round(between[end - 2], 9) for end in ends]


def measure_energy(trainer: Trainer, window: Tensor, gpu: Gpu | None, step_s: float, wanted_s: float) -> dict[str, Any]:
    """Train on, on one window, for at least 30 s and read the GPU's energy counter before and after.

    A step takes `step_s`; `wanted_s` below 30 are 30 s, and 0 means not at all. Returns the block `energy` of a record,
    each value null where it was not measured.
    """
    nothing = dict.fromkeys(("window_s", "steps", "energy_j"))
    before = gpu.energy_j() if gpu and wanted_s else None
    if gpu is None or before is None:
        return nothing
    steps = math.ceil(max(wanted_s, SHORTEST_ENERGY_S) * 1.05 / step_s)
    began = time.perf_counter()
    for _ in range(steps):
        trainer.step(trainer.load(window))
    torch.cuda.synchronize(trainer.device)
    elapsed, after = time.perf_counter() - began, gpu.energy_j()
    if after is None or elapsed < SHORTEST_ENERGY_S:
        return nothing
    return {"window_s": elapsed, "steps": steps, "energy_j": after - before}


def _graphs() -> int:
    """Graphs that `torch.compile` has made in this process."""
    return int(counters["stats"]["unique_graphs"])
