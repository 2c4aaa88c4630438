"""One repeat of the evaluation: every run from one seed, one after the other on one thread."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpu_bench.cases.case import Case
from gpu_bench.digits import digits
from gpu_bench.digits.digits import CLASSES, SIDE, Digits
from gpu_bench.failures.training import compact
from gpu_bench.hybrid.arms import ARMS, Arm
from gpu_bench.hybrid.case import HybridCase
from gpu_bench.hybrid.predictors import DynamicModes, LastUpdate, LinearFit, MeanUpdate, NoOp, Predictor
from gpu_bench.hybrid.recurrent import Recurrent
from gpu_bench.hybrid.trainer import HybridTrainer, Options
from gpu_bench.machine import provenance

POINTS = 60
"""Points of a curve."""


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Train every run on the CPU, on one thread, so that processor time says what each costs on a busy machine too.

    The first run is trained twice, and its first time does not count: it loads what all the others use.
    """
    assert isinstance(case, HybridCase)
    started, load = provenance.utc_now(), provenance.load_average()
    torch.set_num_threads(1)
    data, seed = digits.load(), case.seed + repeat
    train(ARMS["plain"], case, data, seed)
    runs = {name: {"settings": arm.as_dict(), "seed": train(arm, case, data, seed)} for name, arm in ARMS.items()}
    return {
        "status": "ok",
        "message": None,
        "arms": {"data": data.as_dict(), "runs": runs},
        "load_average": load,
        "started": started,
    }


def network(case: HybridCase, seed: int) -> nn.Module:
    """Two convolutions and a linear layer. Equal seeds give equal weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Unflatten(1, (1, SIDE, SIDE)),
            nn.Conv2d(1, case.channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(case.channels, 2 * case.channels, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(2 * case.channels * (SIDE // 2) ** 2, CLASSES),
        )


def predictor_of(arm: Arm, seed: int) -> Predictor:
    """A new predictor; plain training has one that is never asked."""
    match arm.predictor:
        case "last-update":
            return LastUpdate()
        case "mean-update":
            return MeanUpdate(8)
        case "linear-fit":
            return LinearFit()
        case "dynamic-modes":
            return DynamicModes()
        case "recurrent":
            return Recurrent(seed=seed)
        case _:
            return NoOp()


def _batches(data: Digits, size: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    draw = torch.Generator().manual_seed(seed)
    while True:
        for chosen in torch.randperm(len(data.classes), generator=draw).split(size):  # type: ignore[no-untyped-call]
            if len(chosen) == size:
                yield data.images[chosen], data.classes[chosen]


def train(arm: Arm, case: HybridCase, data: Digits, seed: int) -> dict[str, Any]:
    """Train once. Returns plain data: the loss over time with its phases, what was predicted how well, the costs."""
    model = network(case, seed)
    optimizer: torch.optim.Optimizer
    if arm.optimizer == "adam":
        optimizer = torch.optim.Adam(model.parameters(), lr=arm.learning_rate)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=arm.learning_rate, momentum=0.9)
    batches, steps = _batches(data, case.batch, seed), arm.taken(case.steps)
    curve: list[dict[str, Any]] = []
    every = max(1, steps // POINTS)
    trainer = None
    if arm.predictor != "none":
        options = Options(forward=arm.forward, clip=None)
        trainer = HybridTrainer(model, optimizer, arm.schedule(case.steps), predictor_of(arm, seed), options)
    began = time.process_time()
    for step in range(steps):
        images, classes = next(batches)
        phase: str = "full"
        loss: float | None
        if trainer is None:
            optimizer.zero_grad(set_to_none=True)
            found = functional.cross_entropy(model(images), classes)
            found.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            loss = float(found.detach())
        else:
            done = trainer.step(lambda one, x=images, y=classes: functional.cross_entropy(one(x), y))  # type: ignore[misc]
            phase, loss = done.phase, done.loss
        if step % every == 0:
            spent = round(time.process_time() - began, 4)
            curve.append(
                {"step": step, "cpu_s": spent, "phase": phase, "loss": None if loss is None else compact(loss)}
            )
    spent = time.process_time() - began
    return {
        "seed": seed,
        "steps": steps,
        "cpu_s": round(spent, 4),
        "curve": curve,
        "told": _told(trainer, steps),
        "test": _test(model, data),
    }


def _told(trainer: HybridTrainer | None, steps: int) -> dict[str, Any]:
    """What the trainer counted, and how well it predicted how far ahead."""
    if trainer is None:
        return {"computed": steps, "divergences": 0, "snapshot_bytes": 0, "history_bytes": 0, "horizons": []}
    kept = trainer.statistics
    horizons = []
    for ahead in sorted(set(kept.horizons)):
        chosen = [index for index, one in enumerate(kept.horizons) if one == ahead]
        cosine = sum(kept.cosines[index] for index in chosen) / len(chosen)
        error = sum(kept.errors[index] for index in chosen) / len(chosen)
        horizons.append({"ahead": ahead, "compared": len(chosen), "cosine": compact(cosine), "error": compact(error)})
    return {
        "computed": kept.computed,
        "divergences": kept.divergences,
        "snapshot_bytes": kept.snapshot_bytes,
        "history_bytes": kept.history_bytes,
        "horizons": horizons,
    }


@torch.no_grad()
def _test(model: nn.Module, data: Digits) -> dict[str, float | None]:
    out = model(data.test_images)
    loss = compact(float(functional.cross_entropy(out, data.test_classes)))
    right = compact(float((out.argmax(1) == data.test_classes).float().mean()))
    return {"loss": loss, "accuracy": right}
