"""Act 2, Trust, but Measure: the textbook's count of activations, the engine's, and what a machine really held.

Texts, controls and questions. The other modules here compute, charts.py draws.
"""

from __future__ import annotations

from explorable import live

from .configurations import configurations, shape
from .question import HUNTED, QUESTION, TOGGLES
from .reflection import REFLECTION
from .verdict import reveal
from .view import compute

ACT = live.Act(
    name="trust-but-measure",
    title="Trust, but Measure",
    minutes=8,
    situation=f"In a GPT of {shape(HUNTED).layers} blocks, trained on {HUNTED.batch} texts of {HUNTED.sequence} "
    "tokens, every block makes these tensors.",
    contexts=(live.Context("bench", "The bench", "Kept from forward to backward; flash attention unless said."),),
    question=QUESTION,
    controls=(
        *TOGGLES,
        live.Choice(
            "configuration",
            "Configuration",
            tuple(
                live.ControlOption(one.key, one.label) for one in dict.fromkeys((HUNTED, *configurations().values()))
            ),
            HUNTED.key,
            "Batch × tokens per sequence.",
            after_reveal=True,
        ),
    ),
    compute=compute,
    reveal=reveal,
    charts={"block": "One block; sizes of all blocks together", "tensors": "What is kept, by kind"},
    reflections=(REFLECTION,),
    hands=(live.Tap("block", "boxes", "box"),),
    staging=live.Staging(
        "block",
        (
            live.Beat(("kept", "judged"), {"found": True}),
            live.Beat(("kept", "judged"), {"found": False}),
            live.Beat(("engine", "engine_text", "dots", "marks")),
            live.Beat(("gap", "gap_text", "book", "book_text")),
        ),
        {"configuration": HUNTED.key},
    ),
    reveal_first=True,
)
