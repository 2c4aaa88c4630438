"""One repeat of the evaluation: every run from one seed, one after the other."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn

from gpu_bench.cases.case import Case
from gpu_bench.experiments.digits import digits, mnist
from gpu_bench.experiments.failures.training import compact
from gpu_bench.experiments.hybrid import memory
from gpu_bench.experiments.hybrid.arms import REMEMBERED, Arm
from gpu_bench.experiments.hybrid.case import HybridCase, MemoryCase
from gpu_bench.experiments.hybrid.digits_task import Batch, DigitsTask
from gpu_bench.experiments.hybrid.predictors import DynamicModes, LastUpdate, LinearFit, MeanUpdate, NoOp, Predictor
from gpu_bench.experiments.hybrid.recurrent import Recurrent
from gpu_bench.experiments.hybrid.text_task import TextTask
from gpu_bench.experiments.hybrid.trainer import HybridTrainer, LossOf, Options
from gpu_bench.experiments.hybrid.verdict import point_steps

Task = DigitsTask | TextTask
"""What is learned: equal seeds give equal weights, and equal batches in equal order."""
LOADING = 50
"""Steps of the short training before the first run."""


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Train every run: on a CPU on one thread, so that processor time says what each costs on a busy machine too.

    Before the first run it trains for a moment, which loads what all of them use.
    """
    assert isinstance(case, HybridCase)
    torch.set_num_threads(1)
    task, seed = task_of(case, device), case.seed + repeat
    train(case.arms["plain"], replace(case, steps=min(case.steps, LOADING)), task, seed)
    runs = {name: {"settings": arm.as_dict(), "seed": train(arm, case, task, seed)} for name, arm in case.arms.items()}
    return {"status": "ok", "message": None, "arms": {"data": task.about(), "runs": runs}}


def task_of(case: HybridCase, device: torch.device) -> Task:
    """What a case learns."""
    if case.task == "text":
        return TextTask(case, device)
    return DigitsTask(mnist.load() if case.task == "mnist" else digits.load(), case.channels, device)


def predictor_of(arm: Arm, seed: int) -> Predictor:
    """A new predictor; plain training has one too, and never uses it."""
    match arm.predictor:
        case "last-update":
            return LastUpdate()
        case "mean-update":
            return MeanUpdate(REMEMBERED["mean-update"])
        case "linear-fit":
            return LinearFit()
        case "dynamic-modes":
            return DynamicModes()
        case "recurrent":
            return Recurrent(seed=seed)
        case _:
            return NoOp()


def _now(device: torch.device) -> float:
    """Seconds: of this processor's time, or on the clock once the GPU has done what it was asked."""
    if device.type != "cuda":
        return time.process_time()
    torch.cuda.synchronize(device)
    return time.perf_counter()


def train(arm: Arm, case: HybridCase, task: Task, seed: int) -> dict[str, Any]:
    """Train once. Returns plain data: the loss over time with its phases, what was predicted how well, the costs."""
    model = task.network(seed)
    device, optimizer = next(model.parameters()).device, _optimizer(arm, case, model)
    batches, steps = task.batches(case.batch * arm.larger, seed), arm.taken(case.steps)
    trainer = HybridTrainer(model, optimizer, arm.schedule(case.steps), predictor_of(arm, seed), _options(arm, case))
    points, curve = set(point_steps(steps)), []
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    began = _now(device)
    for step in range(steps):
        batch = next(batches)
        done = trainer.step(*_losses(task, batch, arm.parts))
        if step in points:
            loss = None if done.loss is None else compact(done.loss)
            spent = round(_now(device) - began, 4)
            curve.append({"seconds": spent, "phase": done.phase, "loss": loss})
    spent = _now(device) - began
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    loss, right = task.test(model)
    return {
        "seconds": round(spent, 4),
        "memory_peak": peak,
        "curve": curve,
        "told": _told(trainer),
        "test": {"loss": compact(loss), "accuracy": compact(right)},
        **({"memory": peaks_of(arm, case, task, seed)} if isinstance(case, MemoryCase) else {}),
    }


def _optimizer(arm: Arm, case: HybridCase, model: nn.Module) -> torch.optim.Optimizer:
    rate = case.learning_rate * arm.rate
    if arm.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), lr=rate)
    return torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)


def _options(arm: Arm, case: HybridCase) -> Options:
    return Options(
        forward=arm.forward,
        autocast=torch.bfloat16 if arm.mixed or case.precision == "amp-bf16" else None,
        optimizer_state=arm.optimizer_state,
        predicts=arm.predictor != "none",
    )


def _losses(task: Task, batch: Batch, parts: int) -> list[LossOf]:
    """Functions that compute the loss of each micro-batch."""
    inputs, targets = (torch.chunk(tensor, parts) for tensor in batch)
    return [partial(task.loss, batch=micro) for micro in zip(inputs, targets, strict=True)]


def peaks_of(arm: Arm, case: HybridCase, task: Task, seed: int) -> dict[str, Any]:
    """Peaks of memory in a separate short training that goes through every phase."""
    model = task.network(seed)
    options = _options(arm, case)
    trainer = HybridTrainer(model, _optimizer(arm, case, model), memory.SHORT, predictor_of(arm, seed), options)
    batches = task.batches(case.batch, seed)
    return memory.peaks(trainer, lambda: _losses(task, next(batches), arm.parts))


def _told(trainer: HybridTrainer) -> dict[str, Any]:
    """What the trainer counted, and how well it predicted how far ahead."""
    kept = trainer.statistics
    horizons = []
    for ahead in sorted({one for one, _, _ in kept.comparisons}):
        chosen = [found for found in kept.comparisons if found[0] == ahead]
        cosine, error = (sum(found[at] for found in chosen) / len(chosen) for at in (1, 2))
        horizons.append({"ahead": ahead, "compared": len(chosen), "cosine": compact(cosine), "error": compact(error)})
    return {
        "phases": dict(kept.steps),
        "phase_seconds": {phase: round(seconds, 4) for phase, seconds in kept.seconds.items()},
        "extra_seconds": round(kept.extra_seconds, 4),
        "divergences": kept.divergences,
        "snapshot_bytes": kept.snapshot_bytes,
        "history_bytes": kept.history_bytes,
        "horizons": horizons,
    }
