"""What a model holds in memory when it answers, and when it trains."""

from typing import Any

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import GB, model, training_memory
from ironlaw.numerics import dtype

NAME = "llama2-7b"
PARTS = (
    ("weights", ("parameters",), "memory", "", ""),
    ("gradients", ("gradients",), "data", "//", "surface"),
    ("optimizer state", ("optimizer", "master"), "optimizer", "\\\\", "surface"),
    ("kept for the backward pass", ("activations", "logits"), "activation", "--", "surface"),
)
"""Name, components of the ledger, ink, hatch, ground."""


def draw() -> Drawing:
    """Two stacked bars."""
    ledger = training_memory(NAME, optimizer="adamw", precision="mixed", batch=1)
    training = [sum(ledger.component(part) for part in parts) / GB for _, parts, *_ in PARTS]
    using = [model(NAME).parameters * dtype("bf16").bits / 8 / GB, 0.0, 0.0, 0.0]
    figure, axes = canvas(2.4)
    left = [0.0, 0.0]
    bars = ("to answer", "to train")
    for (name, _, ink, hatch, ground), *widths in zip(PARTS, using, training, strict=True):
        style: dict[str, Any] = {"facecolor": INK[ground or ink], "edgecolor": INK[ink], "hatch": hatch or None}
        for bar, begin, width in zip(bars, left, widths, strict=True):
            if width:
                label = name if bar == bars[-1] else None
                axes.barh(bar, width, left=begin, height=0.55, label=label, linewidth=1.4, **style)
        left = [begin + width for begin, width in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("GB")
    figure.legend(frameon=False, ncols=2, loc="outside upper left")
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    listed = ", ".join(f"{name} {value:.1f} GB" for (name, *_), value in zip(PARTS, training, strict=True))
    return Drawing(
        figure,
        f"Two stacked bars. To answer, {NAME} holds {using[0]:.1f} GB of weights. To train, it holds {listed}.",
    )
