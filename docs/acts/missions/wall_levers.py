"""Levers that every track has in part 3."""

from __future__ import annotations

from ironlaw.training.noisy_quadratic import Guard

from .facts import Lever, Setting, switch

RATE = Lever(
    "rate",
    "Learning rate by batch",
    {"linear": "Linear", "root": "Square root"},
    "linear",
    "Twice the batch: twice the rate, or 1.4 times.",
)
CLIP = switch("clip", "Gradient clipping", "No gradient is longer than about two and a half times the first.")
SCALING = Lever(
    "scaling",
    "Loss scaling",
    {"none": "None", "static": "Static", "dynamic": "Dynamic"},
    "static",
    "For 16-bit gradients. Dynamic leaves out an update that overflows, and halves its scale.",
)
CHECKPOINTING = switch("checkpointing", "Gradient checkpointing")
NORM = 3.0
"""Norm at which clipping begins, where a normal gradient at the start is 1.2."""


def guard(setting: Setting, *, half: bool, norm: float = NORM) -> Guard:
    """The guard by the levers `scaling` and `clip`. `half` is for FP16 only: BF16 has FP32's range."""
    return Guard(half, str(setting.get("scaling", "none")), norm if setting["clip"] else None)
