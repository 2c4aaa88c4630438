"""Act 3, Trust, but Measure: the textbook's count of activations, the engine's, and what a machine really held.

The scene. What it computes is in the modules beside this one, what it draws in charts.py.
"""

from __future__ import annotations

from plugins import live

from .configurations import SOURCE_BATCH, configurations
from .counts import EXAMPLE, gap_factor, size, textbook
from .reflection import REFLECTION
from .verdict import reveal
from .view import compute

ACT = live.Act(
    name="trust-but-measure",
    title="Trust, but Measure",
    minutes=8,
    situation=f"The textbook counts {size(textbook(EXAMPLE))} of activations for GPT-2 XL at batch {SOURCE_BATCH}, in "
    "16 bits. You order GPUs by that number. Before you sign, ask PyTorch what it really keeps.",
    contexts=(live.Context("bench", "The bench", "Kept from forward to backward; flash attention unless said."),),
    question=live.NumberQuestion(
        prompt="How many times the textbook's count does PyTorch really keep from the forward to the backward pass?",
        unit="×",
        minimum=0.1,
        maximum=50,
        answer=lambda: gap_factor(EXAMPLE),
    ),
    controls=(
        live.Choice(
            "configuration",
            "Configuration",
            tuple(live.ControlOption(key, one.label) for key, one in configurations().items()),
            next(iter(configurations())),
            "Batch × tokens per sequence.",
        ),
    ),
    compute=compute,
    reveal=reveal,
    charts={"count": "Three counts of the same tensors", "tensors": "What is kept, by kind"},
    reflections=(REFLECTION,),
)
