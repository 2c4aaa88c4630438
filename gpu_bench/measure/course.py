"""What a long run shows and a short one cannot: loss on text that is not trained on, gradients, memory over time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from gpu_bench.measure.data import Corpus, draw_windows
from gpu_bench.measure.training import Trainer

HELD_BACK = 0.05
"""Share of the text, at its end, that is not trained on."""
WINDOWS = 8
"""Batches of the held-back text over which a loss is averaged, always the same ones."""


def split(corpus: Corpus) -> tuple[Corpus, Corpus]:
    """The text to train on and the text to validate on."""
    border = len(corpus.tokens) - int(HELD_BACK * len(corpus.tokens))
    return replace(corpus, tokens=corpus.tokens[:border]), replace(corpus, tokens=corpus.tokens[border:])


@dataclass
class Course:
    """Notes how a run goes on held-back text. Numbers stay on the device until the end: noting delays nothing."""

    trainer: Trainer
    held_back: Corpus
    _windows: Tensor = field(init=False)
    _norms: list[Tensor | None] = field(default_factory=list)
    _points: list[tuple[Tensor, int | None, int | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        case = self.trainer.case
        self._windows = draw_windows(self.held_back, WINDOWS, case.batch, case.sequence, case.seed)

    def due(self, step: int) -> bool:
        """Whether the loss on held-back text is to be computed after so many steps."""
        return step % self.trainer.case.validate_every == 0

    def note(self) -> None:
        """Note the step's gradient norm; to be called after each step."""
        norm = self.trainer.gradient_norm
        self._norms.append(None if norm is None else norm.detach().clone())

    @torch.no_grad()
    def validate(self) -> None:
        """Note the mean loss on held-back text, without dropout, and the memory in use."""
        trainer, device = self.trainer, self.trainer.device
        trainer.model.eval()
        losses = [trainer.loss(trainer.load(window)) for window in self._windows]
        trainer.model.train()
        cuda = device.type == "cuda"
        held = torch.cuda.memory_allocated(device) if cuda else None
        asked = torch.cuda.memory_reserved(device) if cuda else None
        self._points.append((torch.stack(losses).mean(), held, asked))

    def as_dict(self) -> dict[str, Any]:
        """The block `course` of a record."""
        points = []
        for loss, held, asked in self._points:
            points.append({"validation_loss": _finite(loss), "allocated": held, "reserved": asked})
        norms = [None if norm is None else _finite(norm) for norm in self._norms]
        return {"points": points, "gradient_norms": norms}


def _finite(value: Tensor) -> float | None:
    number = float(value)
    return round(number, 6) if math.isfinite(number) else None
