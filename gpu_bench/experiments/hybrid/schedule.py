"""When a step is computed and when it is predicted: a pure function of the steps so far and of the confidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Phase = Literal["warmup", "full", "predict", "correct"]
COMPUTED: tuple[Phase, ...] = ("warmup", "full", "correct")
"""Phases whose steps run backward and the optimizer."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The rules of the phases.

    Raises:
        ValueError: A count below 1, or a threshold outside 0 to 1.
    """

    warmup_steps: int = 100  # Computed steps at the start, before anything may be predicted
    full_steps: int = 20  # Computed steps between two excursions of predicted steps
    max_predict_steps: int = 50  # Predicted steps of one excursion at most
    confidence_threshold: float = 0.60  # Confidence from which a step may be predicted; 0 predicts whatever it is
    correction_interval: int = 15  # Predicted steps after which one is computed, to compare and to correct

    def __post_init__(self) -> None:
        for name in ("warmup_steps", "full_steps", "max_predict_steps", "correction_interval"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)} is not allowed; it must be at least 1")
        if not 0 <= self.confidence_threshold <= 1:
            raise ValueError(f"confidence_threshold {self.confidence_threshold} is not allowed; allowed: 0 to 1")


CONSERVATIVE = Schedule(confidence_threshold=0.60, max_predict_steps=50, correction_interval=15)
AGGRESSIVE = Schedule(confidence_threshold=0.55, max_predict_steps=75, correction_interval=10)
"""The two presets of the validation plan."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a training is in its schedule."""

    phase: Phase = "warmup"  # The phase of the next step
    done: int = 0  # Steps of this phase that are done; in an excursion, predicted steps of all of it
    since: int = 0  # Predicted steps since the last computed one


def advance(rules: Schedule, at: Position, confidence: float, *, diverged: bool = False) -> Position:
    """The position after the step at a position is done.

    `confidence`, 0 to 1, says how well updates are predicted; `diverged`, that the step was taken back.
    """
    if diverged:
        return Position("full")
    trusted = confidence >= rules.confidence_threshold
    match at.phase:
        case "warmup" | "full":
            done = at.done + 1
            length = rules.warmup_steps if at.phase == "warmup" else rules.full_steps
            if done < length:
                return replace(at, done=done)
            return Position("predict") if trusted else Position("full")
        case "predict":
            done, since = at.done + 1, at.since + 1
            if done >= rules.max_predict_steps:
                return Position("full")
            if since >= rules.correction_interval:
                return Position("correct", done)
            return Position("predict", done, since)
        case "correct":
            return Position("predict", at.done) if trusted else Position("full")
