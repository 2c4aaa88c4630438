"""The peak of a step: memory from moment to moment, without a question. The other modules here compute."""

from __future__ import annotations

from explorable import live

from .timeline import BATCHES, CARD, GPT2, gb, timeline
from .view import compute

START = 4
"""The batch that is shown first."""
ACT = live.Act(
    name="step-peak",
    title="The peak of a step",
    minutes=3,
    situation="Memory fills in the forward pass and empties in the backward pass. Move through one step of the "
    "smallest GPT-2: its highest moment decides whether training fits.",
    contexts=(live.Context("card", "RTX 4060", f"{CARD.title}; your programs get {gb(CARD.usable_bytes)} GB of it."),),
    question=None,
    controls=(
        live.Slider(
            "moment",
            "Moment",
            0,
            len(timeline(START)) - 1,
            6,
            integer=True,
            help="From one step to the next: drag it, or the dot in the chart. The arrow keys move along.",
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
    hands=(live.Handle("step", "playhead", "moment", field="at"),),
    can_fail=True,
)
