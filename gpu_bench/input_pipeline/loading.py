"""The training step fed by one loader after another: its time, and what it waited for.

Batches come from endless streams of windows: from text that is encoded on the way, or from tokens that lie ready. Every
moment of the profiled steps belongs to one stage. Compute comes first: when the device computes, it is compute whatever
else goes on. Of the rest, transfer is when data moves to the device; of what is left, loading is when the
training process waits for a batch. So `loading` is what a step would gain from an endless supply of batches.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import torch
from torch import Tensor
from torch.profiler import record_function
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.cases.planned import PlannedPoint
from gpu_bench.input_pipeline.case import Loader, LoaderCase, loader_of
from gpu_bench.measure.data import encoded, read_corpus, read_text
from gpu_bench.measure.stopwatch import Stopwatch
from gpu_bench.measure.trace import WINDOW, Interval, beyond, clip, covered, interval, traced
from gpu_bench.measure.training import Trainer

_CHUNK = 2**16
"""Bytes of text that are encoded at a time."""


class Stream(IterableDataset[Tensor], ABC):
    """Windows of (sequence + 1,) tokens, int32, without end. Each worker begins in a part of its own."""

    def __init__(self, sequence: int) -> None:
        super().__init__()
        self._length = sequence + 1

    def __iter__(self) -> Iterator[Tensor]:
        worker = get_worker_info()
        share = worker.id / worker.num_workers if worker is not None else 0.0
        ready = torch.empty(0, dtype=torch.int32)
        for piece in self.pieces(share):
            ready = torch.cat([ready, piece])
            whole = len(ready) // self._length * self._length
            yield from ready[:whole].view(-1, self._length)
            ready = ready[whole:]

    @abstractmethod
    def pieces(self, begin: float) -> Iterator[Tensor]:
        """Tokens in pieces of any length, without end, beginning at this share of the whole."""


class TextStream(Stream):
    """Encodes text as it goes."""

    def __init__(self, text: bytes, vocabulary: int, sequence: int) -> None:
        super().__init__(sequence)
        self._text, self._vocabulary = text, vocabulary

    def pieces(self, begin: float) -> Iterator[Tensor]:
        """The text in chunks, encoded."""
        chunks = -(-len(self._text) // _CHUNK)
        for number in count(int(chunks * begin)):
            start = number % chunks * _CHUNK
            yield encoded(self._text[start : start + _CHUNK], self._vocabulary)


class TokenStream(Stream):
    """Hands out tokens (tokens,), of any integer format, that were encoded before."""

    def __init__(self, tokens: Tensor, sequence: int) -> None:
        super().__init__(sequence)
        self._tokens = tokens

    def pieces(self, begin: float) -> Iterator[Tensor]:
        """A window's length at a time."""
        windows = len(self._tokens) // self._length
        for number in count(int(windows * begin)):
            start = number % windows * self._length
            yield self._tokens[start : start + self._length].to(torch.int32)


LOADING, TRANSFER, COMPUTE = "loading", "transfer", "compute"
_PREFIX = "gpu_bench: "
_KERNELS = ("kernel", "gpu_memset")


def stage(name: str) -> record_function:
    """Mark a stage of the training process for the profiler; without one it costs about a microsecond."""
    return record_function(_PREFIX + name)


def profiled_shares(steps: Callable[[], None], device: torch.device) -> dict[str, float]:
    """Run `steps` under the profiler and return the share of each stage in their time; they sum to 1."""
    return shares(traced(steps, device), device.type)


def shares(events: Sequence[Mapping[str, Any]], device: str) -> dict[str, float]:
    """The shares `compute`, `transfer`, `loading` and `other`, from the complete events of a trace."""
    host = [event for event in events if event.get("cat") == "user_annotation"]
    begin, end = next(interval(event) for event in host if event["name"] == WINDOW)

    def marked(name: str) -> list[Interval]:
        return clip((interval(event) for event in host if event["name"] == _PREFIX + name), begin, end)

    if device == "cuda":
        computing = [interval(event) for event in events if event.get("cat") in _KERNELS]
        moving = [interval(event) for event in events if event.get("cat") == "gpu_memcpy" and "HtoD" in event["name"]]
        # A copy from memory that is not pinned goes through a buffer, so the host's time for it counts too.
        moving += marked(TRANSFER)
    else:
        computing, moving = marked(COMPUTE), marked(TRANSFER)
    computing, moving, loading = clip(computing, begin, end), clip(moving, begin, end), marked(LOADING)
    whole = end - begin
    found = {
        COMPUTE: covered(computing) / whole,
        TRANSFER: beyond(moving, computing) / whole,
        LOADING: beyond(loading, [*computing, *moving]) / whole,
    }
    return {**found, "other": max(0.0, 1.0 - sum(found.values()))}


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Measure the step with every loader of the case. Returns plain data."""
    assert isinstance(case, LoaderCase)
    trainer = Trainer(_training(case), device)
    return {"status": "ok", "message": None, "points": [_point(case, one, trainer) for one in case.points()]}


def _training(case: LoaderCase) -> TrainingCase:
    """The training case whose step the loaders feed."""
    same = {name: getattr(case, name) for name in ("name", "model", "precision", "batch", "sequence", "seed")}
    return TrainingCase(**same, optimizer="adamw", learning_rate=3e-4)


def make_loader(loader: Loader, vocabulary: int, batch: int, sequence: int, device: torch.device) -> DataLoader[Tensor]:
    """PyTorch's loader of (batch, sequence + 1) int32 windows."""
    stream: Stream
    if loader.source == "text":
        stream = TextStream(read_text()[0], vocabulary, sequence)
    else:
        stream = TokenStream(read_corpus(vocabulary=vocabulary).tokens, sequence)
    return DataLoader(
        stream,
        batch_size=batch,
        num_workers=loader.workers,
        prefetch_factor=loader.prefetch if loader.workers else None,
        # Pinned memory is of use only to a GPU, which copies from it by itself.
        pin_memory=loader.pinned and device.type == "cuda",
    )


def _point(case: LoaderCase, planned: PlannedPoint, trainer: Trainer) -> dict[str, Any]:
    """Measure one loader. Its iterator owns the worker processes: they end when this function returns."""
    loader = loader_of(planned.label)
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
        "label": planned.label,
        "settings": dict(planned.settings),
        "samples_s": [round(second, 9) for second in seconds],
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
