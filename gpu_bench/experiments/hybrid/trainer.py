"""The hybrid trainer: wraps any model and optimizer, and predicts some of their steps."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal

import torch
from torch import Tensor, nn

from gpu_bench.experiments.hybrid.predictors import Predictor, Update, likeness
from gpu_bench.experiments.hybrid.schedule import COMPUTED, Phase, Position, Schedule, advance
from gpu_bench.experiments.hybrid.snapshot import Snapshot, state_bytes

LossOf = Callable[[nn.Module], Tensor]
OptimizerState = Literal["keep", "offload", "drop"]
REMEMBERED_LOSSES = 20
"""Number of computed losses that a loss is compared with, and of comparisons over which confidence is averaged."""
FARTHEST = 6.0
"""Standard deviations above the mean of those losses at which a step counts as diverged."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a step does besides the schedule."""

    # Whether predicted steps compute their loss. Without it they cost no pass at all, and only computed steps can
    # notice that training diverges
    forward: bool = True
    autocast: torch.dtype | None = None  # Format of matrix products, or None for that of the weights
    # During predicted steps the optimizer's state stays where it is, moves to host memory together with the snapshot,
    # or is given up, so that the optimizer starts anew
    optimizer_state: OptimizerState = "keep"
    # Whether anything may be predicted. If not, every step is one of warm-up: plain training, which remembers and
    # compares nothing
    predicts: bool = True


@dataclass(slots=True)
class Statistics:
    """What happened so far."""

    # Steps by phase
    steps: dict[Phase, int] = field(default_factory=lambda: {"warmup": 0, "full": 0, "predict": 0, "correct": 0})
    # Wall-clock seconds by phase; on a GPU only meaningful where the caller waits for each step
    seconds: dict[Phase, float] = field(
        default_factory=lambda: {"warmup": 0.0, "full": 0.0, "predict": 0.0, "correct": 0.0}
    )
    # Of the seconds of computed steps, those that serve prediction alone: comparing and remembering
    extra_seconds: float = 0.0
    divergences: int = 0  # Excursions that were taken back
    snapshot_bytes: int = 0  # Memory of the largest snapshot
    history_bytes: int = 0  # Memory of the remembered updates at their most
    # Of each comparison: how many steps ahead it was predicted, the cosine between predicted and real update, and the
    # error relative to the real update's length
    comparisons: list[tuple[int, float, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Step:
    """One step."""

    phase: Phase  # The phase it belonged to
    loss: float | None  # Its loss before the weights moved; None where a predicted step computed none
    diverged: bool = False  # Whether training went back to the snapshot because of it


class HybridTrainer:
    """Alternates computed and predicted steps of any module and its optimizer."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        schedule: Schedule,
        predictor: Predictor,
        options: Options | None = None,
    ) -> None:
        self.model, self.optimizer = model, optimizer
        self.schedule, self.predictor, self.options = schedule, predictor, options or Options()
        self.statistics = Statistics()
        self._at = Position()
        self._ahead = 0
        self._recent: deque[float] = deque(maxlen=REMEMBERED_LOSSES)
        self._cosines: deque[float] = deque(maxlen=REMEMBERED_LOSSES)
        self._snapshot: Snapshot | None = None
        self._parameters = [p for group in optimizer.param_groups for p in group["params"]]

    @property
    def phase(self) -> Phase:
        """The phase of the next step."""
        return self._at.phase

    @property
    def confidence(self) -> float:
        """The mean cosine of the last comparisons, 0 before the first."""
        return max(sum(self._cosines) / len(self._cosines), 0.0) if self._cosines else 0.0

    @property
    def offloaded_bytes(self) -> int:
        """What offloading has in host memory now: the snapshot, and in predicted steps the optimizer's state."""
        if self.options.optimizer_state != "offload" or self._snapshot is None:
            return 0
        state = state_bytes(self.optimizer.state_dict()) if self.phase == "predict" else 0
        return state + self._snapshot.bytes

    def step(self, *losses: LossOf) -> Step:
        """One step on one batch, or on several micro-batches, a function each, whose gradients are averaged.

        Raises `ValueError` when no losses are given.
        """
        if not losses:
            raise ValueError("step needs at least one function that computes a loss")
        started, phase = perf_counter(), self._at.phase
        loss = self._predicted(losses) if phase == "predict" else self._computed(losses)
        diverged = loss is not None and self._has_diverged(loss)
        done = perf_counter()
        self.statistics.steps[phase] += 1
        if diverged:
            self._go_back()
        elif phase in COMPUTED and loss is not None:
            self._recent.append(loss)
        if self.options.predicts:
            self._move(diverged=diverged)
        ended = perf_counter()
        self.statistics.seconds[phase] += ended - started
        if phase in COMPUTED and self.options.predicts:
            self.statistics.extra_seconds += ended - done
        return Step(phase, loss, diverged)

    def _computed(self, losses: Sequence[LossOf]) -> float:
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for loss_of in losses:
            with self._format():
                loss = loss_of(self.model) / len(losses)
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        if self._has_diverged(total):
            return total  # This step is taken back: neither optimizer nor predictor learns from it.
        if not self.options.predicts:
            self.optimizer.step()
            return total
        copied = perf_counter()
        before = [p.detach().clone() for p in self._parameters]
        moved = perf_counter()
        self.optimizer.step()
        compared = perf_counter()
        update: Update = [p.detach() - b for p, b in zip(self._parameters, before, strict=True)]
        self._compare(update)
        self.predictor.observe(update)
        self._ahead = 0
        self.statistics.history_bytes = max(self.statistics.history_bytes, state_bytes(self.predictor.updates))
        self.statistics.extra_seconds += perf_counter() - compared + moved - copied
        return total

    @torch.no_grad()
    def _predicted(self, losses: Sequence[LossOf]) -> float | None:
        loss = None
        if self.options.forward:
            with self._format():
                loss = sum(float(loss_of(self.model)) for loss_of in losses) / len(losses)
        self._ahead += 1
        update = self.predictor.predict(self._ahead)
        if update is not None:
            torch._foreach_add_([p.data for p in self._parameters], update)
        return loss

    def _compare(self, update: Update) -> None:
        """Compare the update of a computed step with what would have been predicted for it."""
        predicted = self.predictor.predict(self._ahead + 1)
        if predicted is None:
            return
        cosine, error = likeness(predicted, update)
        self._cosines.append(cosine)
        self.statistics.comparisons.append((self._ahead + 1, cosine, error))

    def _format(self) -> Any:
        if self.options.autocast is None:
            return nullcontext()
        return torch.autocast(self._parameters[0].device.type, self.options.autocast)

    def _has_diverged(self, loss: float) -> bool:
        """Whether an excursion has left the range of the losses before it.

        Other steps are not checked, because they cannot be taken back.
        """
        if self._snapshot is None:
            return False
        if not math.isfinite(loss):
            return True
        if len(self._recent) < REMEMBERED_LOSSES:
            return False
        mean = sum(self._recent) / len(self._recent)
        spread = math.sqrt(sum((value - mean) ** 2 for value in self._recent) / len(self._recent))
        return loss > mean + FARTHEST * spread

    def _go_back(self) -> None:
        assert self._snapshot is not None
        self._snapshot.restore(self.model, self.optimizer)
        self._snapshot = None
        self.statistics.divergences += 1

    def _move(self, *, diverged: bool) -> None:
        was = self._at.phase
        self._at = advance(self.schedule, self._at, self.confidence, diverged=diverged)
        excursion = ("predict", "correct")
        if self._at.phase == "predict" and was not in excursion:
            self._put_away()
            host = "cpu" if self.options.optimizer_state == "offload" else None
            self._snapshot = Snapshot.of(self.model, self.optimizer, host)
            self.statistics.snapshot_bytes = max(self.statistics.snapshot_bytes, self._snapshot.bytes)
        if self._at.phase not in excursion:
            self._snapshot = None
        elif self._at.phase == "predict" and was == "correct":
            self._put_away()
        if was == "predict" and self._at.phase != "predict" and self.options.optimizer_state == "offload":
            self._place(None)

    def _put_away(self) -> None:
        if self.options.optimizer_state == "offload":
            self._place("cpu")
        elif self.options.optimizer_state == "drop":
            self.optimizer.state.clear()

    def _place(self, device: str | None) -> None:
        """Move the optimizer's state to a device, or each tensor to where its parameter is."""
        for parameter, state in self.optimizer.state.items():
            for name, value in state.items():
                if isinstance(value, Tensor) and value.dim():
                    state[name] = value.to(device or parameter.device)
