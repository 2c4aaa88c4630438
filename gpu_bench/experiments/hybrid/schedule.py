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

    Attributes:
        warmup_steps: Computed steps at the start, before anything may be predicted.
        full_steps: Computed steps between two excursions of predicted steps.
        max_predict_steps: Predicted steps of one excursion at most.
        confidence_threshold: Confidence from which a step may be predicted; 0 predicts whatever it is.
        correction_interval: Predicted steps after which one is computed, to compare and to correct.

    Raises:
        ValueError: A count below 1, or a threshold outside 0 to 1.
    """

    warmup_steps: int = 100
    full_steps: int = 20
    max_predict_steps: int = 50
    confidence_threshold: float = 0.60
    correction_interval: int = 15

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
    """Where a training is in its schedule.

    Attributes:
        phase: The phase of the next step.
        done: Steps of this phase that are done; in an excursion, predicted steps of all of it.
        since: Predicted steps since the last computed one.
    """

    phase: Phase = "warmup"
    done: int = 0
    since: int = 0


def advance(rules: Schedule, at: Position, confidence: float, *, diverged: bool = False) -> Position:
    """The position after a step.

    Args:
        rules: The schedule.
        at: The position of the step that is done.
        confidence: How well updates are predicted at the moment, 0 to 1.
        diverged: Whether the step was taken back, because the loss left its range.
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
