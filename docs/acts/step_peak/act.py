"""The peak of a step: memory from moment to moment, without a question. It computes in the modules beside this one."""

from __future__ import annotations

from plugins import live

from .timeline import BATCHES, CARD, GPT2, gb
from .view import compute

START = 4
"""The batch that is shown first."""
MOMENTS = {
    0: "Start",
    1: "Forward 1",
    6: "Forward 6",
    12: "Forward 12",
    13: "Loss",
    14: "Loss, back",
    15: "Back 12",
    21: "Back 6",
    26: "Back 1",
    28: "Update",
}
"""Moments to stand at, by their place in the timeline. Numbers are those of blocks."""

ACT = live.Act(
    name="step-peak",
    title="The peak of a step",
    minutes=3,
    situation="Memory is not a pile: it fills in the forward pass and empties in the backward pass. Move through one "
    "step of the smallest GPT-2 and find its highest moment. That moment decides whether training fits.",
    contexts=(
        live.Context("card", "RTX 4060", f"{CARD.title}, of which your programs get {gb(CARD.usable_bytes)} GB."),
    ),
    question=None,
    controls=(
        live.Choice(
            "moment",
            "Moment",
            tuple(live.ControlOption(at, title) for at, title in MOMENTS.items()),
            6,
            "From one step to the next. The arrow keys move along.",
        ),
        live.Choice(
            "batch",
            "Batch size",
            tuple(live.ControlOption(size, str(size)) for size in BATCHES),
            START,
            f"Sequences of {GPT2.max_seq:,} tokens, FP32.",
        ),
    ),
    compute=compute,
    reveal=None,
    charts={"step": "Memory through one training step"},
    can_fail=True,
)
