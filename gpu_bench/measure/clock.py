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
    """What happened before the clock started.

    Attributes:
        seconds: Of every step.
        settled: Whether it ended because steps had become steady and nothing was compiled any more.
        compile_s: Seconds that steps in which something was compiled took longer than the last ones; None when
            nothing was compiled. The first step's other costs, such as creating the optimizer's state, are in it.
        graphs: Graphs that were compiled.
        first_peak: The CUDA allocator's peak in the first step, in bytes.
    """

    seconds: list[float]
    settled: bool
    compile_s: float | None
    graphs: int
    first_peak: int | None


@dataclass(frozen=True)
class Timed:
    """The timed steps.

    Attributes:
        seconds: Of every step.
        gpu: The GPU's state under load, as `nvml.summary` gives it; None without a GPU.
        graphs: Graphs compiled meanwhile, which spoils times: none after a warm-up that settled.
    """

    seconds: list[float]
    gpu: dict[str, Any] | None
    graphs: int


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

    Args:
        trainer: Trained and warm.
        windows: The batches to come.
        losses: Each step's loss is added here, still on the device.
        gpu: The GPU; None where there is none.
        usual_s: Seconds of a step, as warm-up found.
        course: Notes gradient norms and validates between two steps; validation is not timed.
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
                course.validate(index + 1)
                watch.mark()
                marks += 1
    # Between the marks m - 1 and m lies the interval m - 2.
    between = watch.seconds()
    return [round(between[end - 2], 9) for end in ends]


def measure_energy(trainer: Trainer, window: Tensor, gpu: Gpu | None, step_s: float, wanted_s: float) -> dict[str, Any]:
    """Train on for at least 30 s and read the GPU's energy counter before and after.

    Args:
        trainer: Trained and warm.
        window: The batch to repeat.
        gpu: The GPU; None where there is none, and so no energy.
        step_s: Seconds of a step, as timed.
        wanted_s: Seconds to train; below 30 they are 30, and 0 means not at all.

    Returns:
        The block `energy` of a record, each value null where it was not measured.
    """
    nothing = dict.fromkeys(("window_s", "steps", "energy_j", "per_token_j", "mean_power_w"))
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
    joules = after - before
    return {
        "window_s": elapsed,
        "steps": steps,
        "energy_j": joules,
        "per_token_j": joules / (steps * trainer.case.tokens_per_step),
        "mean_power_w": joules / elapsed,
    }


def _graphs() -> int:
    """Graphs that `torch.compile` has made in this process."""
    return int(counters["stats"]["unique_graphs"])
