"""The training step fed by one loader after another: its time, and what it waited for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.input_pipeline.case import Loader, LoaderCase, loader_of
from gpu_bench.input_pipeline.shares import COMPUTE, LOADING, TRANSFER, profiled_shares, stage
from gpu_bench.input_pipeline.streams import Stream, TextStream, TokenStream, encoding
from gpu_bench.machine import provenance
from gpu_bench.measure.data import read_corpus, read_text
from gpu_bench.measure.stopwatch import Stopwatch
from gpu_bench.measure.training import Trainer


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Measure the step with every loader of the case. Returns plain data."""
    assert isinstance(case, LoaderCase)
    load = provenance.load_average()
    trainer = Trainer(_training(case), device)
    points = [_point(case, text, trainer) for text in case.loaders]
    return {"status": "ok", "message": None, "points": points, "load_average": load}


def _training(case: LoaderCase) -> TrainingCase:
    """The step that is fed."""
    return TrainingCase(
        name=case.name,
        model=case.model,
        precision=case.precision,
        optimizer="adamw",
        learning_rate=3e-4,
        batch=case.batch,
        sequence=case.sequence,
        seed=case.seed,
    )


def make_loader(loader: Loader, vocabulary: int, batch: int, sequence: int, device: torch.device) -> DataLoader[Tensor]:
    """PyTorch's loader of (batch, sequence + 1) int32 windows."""
    stream: Stream
    if loader.source == "text":
        stream = TextStream(read_text()[0], encoding(vocabulary), sequence)
    else:
        stream = TokenStream(read_corpus(vocabulary=vocabulary).tokens, sequence)
    return DataLoader(
        stream,
        batch_size=batch,
        num_workers=loader.workers,
        prefetch_factor=loader.prefetch if loader.workers else None,
        # Only a GPU copies by itself.
        pin_memory=loader.pinned and device.type == "cuda",
    )


def _point(case: LoaderCase, text: str, trainer: Trainer) -> dict[str, Any]:
    """Measure one loader. Its iterator owns the worker processes: they end when this function returns."""
    loader = loader_of(text)
    batches = iter(make_loader(loader, trainer.model.config.vocab, case.batch, case.sequence, trainer.device))
    losses: list[Tensor] = []

    def run(steps: int) -> None:
        for _ in range(steps):
            _step(trainer, batches, losses)

    run(case.warmup)
    seconds = _timed(case, trainer, batches, losses)
    shares = profiled_shares(lambda: run(case.profiled), trainer.device)
    curve = torch.stack(losses).float().tolist()
    return {
        "label": text,
        "settings": {
            "source": loader.source,
            "workers": loader.workers,
            "prefetch": loader.prefetch if loader.workers else None,
            "pinned": loader.pinned,
        },
        "status": "ok",
        "message": None,
        "samples_s": [round(second, 9) for second in seconds],
        "work": {"tokens": case.batch * case.sequence},
        "shares": shares,
        # JSON has no NaN: a diverged loss is null.
        "losses": [round(loss, 6) if math.isfinite(loss) else None for loss in curve],
    }


def _step(trainer: Trainer, batches: Iterator[Tensor], losses: list[Tensor]) -> None:
    """One step in its three stages, each marked for the profiler."""
    with stage(LOADING):
        window = next(batches)
    with stage(TRANSFER):
        window = trainer.load(window)
    with stage(COMPUTE):
        losses.append(trainer.step(window))


def _timed(case: LoaderCase, trainer: Trainer, batches: Iterator[Tensor], losses: list[Tensor]) -> list[float]:
    """Seconds from step to step."""
    watch = Stopwatch(trainer.device)
    watch.mark()
    for _ in range(case.steps):
        _step(trainer, batches, losses)
        watch.mark()
    return watch.seconds()
