"""Bytes of model state on each of 64 GPUs, for the stages of ZeRO."""

from typing import Any

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import GB, accelerator, training_memory

NAME, DEVICES = "llama2-7b", 64
PARTS = (
    ("weights", ("parameters",), "memory", "", ""),
    ("gradients", ("gradients",), "data", "//", "surface"),
    ("optimizer state", ("optimizer", "master"), "optimizer", "\\\\", "surface"),
    ("buffers to send from", ("buckets", "gathered"), "activation", "..", "surface"),
)
"""Name, components of the ledger, ink, hatch, ground."""
ROWS = ("plain copies", "ZeRO stage 1", "ZeRO stage 2", "ZeRO stage 3")


def draw() -> Drawing:
    """Four stacked bars against the memory of one GPU."""
    ledgers = [
        training_memory(NAME, precision="mixed", optimizer="adamw", dp=DEVICES, zero=stage) for stage in (0, 1, 2, 3)
    ]
    limit = accelerator("h100-sxm").usable_bytes / GB
    figure, axes = canvas(2.8)
    left = [0.0] * len(ROWS)
    for name, parts, ink, hatch, ground in PARTS:
        widths = [sum(ledger.component(part) for part in parts) / GB for ledger in ledgers]
        style: dict[str, Any] = {"facecolor": INK[ground or ink], "edgecolor": INK[ink], "hatch": hatch or None}
        axes.barh(ROWS, widths, left=left, height=0.6, label=name, linewidth=1.4, **style)
        left = [at + width for at, width in zip(left, widths, strict=True)]
    for place, total in enumerate(left):
        axes.text(total + 2, place, f"{total:.1f}", va="center")
    axes.axvline(limit, color=INK["limit"], linestyle="--", linewidth=1.2)
    axes.text(limit + 2, 2.4, "one H100", color=INK["limit"], va="center")
    axes.set_xlim(0, 1.14 * max(left))
    axes.set_xlabel("GB on each GPU")
    axes.invert_yaxis()
    figure.legend(frameon=False, ncols=2, loc="outside upper left", columnspacing=1.2)
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    listed = ", ".join(f"{row} {total:.1f} GB" for row, total in zip(ROWS, left, strict=True))
    return Drawing(
        figure,
        f"States of Llama 2 7B on each of {DEVICES} GPUs, divided step by step: {listed}. An H100 has {limit:.0f} GB. "
        "Stage 1 divides the optimizer state, stage 2 also the gradients, stage 3 also the weights. Plain copies and "
        "stage 3 also hold buffers to send from.",
    )
