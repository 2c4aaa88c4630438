"""The walk-through: memory and predicted step time of GPT-2 XL on a V100, after each change."""

from typing import Any

from matplotlib.figure import Figure

from engine import GB, accelerator, step_time, training_memory
from plugins.book.drawing import WIDTH, Drawing
from plugins.shared.svg import INK

CHIP, SEQUENCES = "v100-32", 32
RUNGS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("FP32", 32, {"precision": "fp32", "attention": "standard"}),
    ("mixed precision", 32, {"precision": "mixed", "attention": "standard"}),
    ("fused attention", 32, {"precision": "mixed"}),
    ("a: checkpoints", 32, {"precision": "mixed", "checkpointing": "every:4"}),
    ("b: accumulation", 2, {"precision": "mixed"}),
    ("b, fused kernels", 2, {"precision": "mixed", "execution": "compiled"}),
)
"""Name, micro-batch, what is changed."""


def draw() -> Drawing:
    """Two panels of bars that share their rows; what does not fit is hatched."""
    chip = accelerator(CHIP)
    figure = Figure(figsize=(WIDTH, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    said = []
    for row, (name, batch, change) in enumerate(RUNGS):
        pieces = SEQUENCES // batch
        ledger = training_memory("gpt2-xl", chip, batch, accumulate=pieces, update="fused", **change)
        step = step_time("gpt2-xl", chip, batch, accumulate=pieces, update="fused", **change)
        fits = ledger.device_total <= chip.usable_bytes
        size = ledger.device_total / GB
        for axes, value, text in ((left, size, f"{size:.0f}"), (right, step.total, f"{step.total:.2f}")):
            ink = INK["memory" if axes is left else "compute"]
            ground, hatch = (ink, "") if fits else (INK["surface"], "////")
            axes.barh(row, value, height=0.6, facecolor=ground, edgecolor=ink, hatch=hatch)
            axes.annotate(text, (value, row), (4, 0), textcoords="offset points", va="center")
        said.append(f"{name} {size:.0f} GB and {step.total:.2f} s{'' if fits else ', does not fit'}")
    left.axvline(chip.usable_bytes / GB, color=INK["limit"], linewidth=1.2, linestyle="--")
    left.set_yticks(range(len(RUNGS)), [name for name, *_ in RUNGS])
    left.invert_yaxis()
    left.set_xlabel("GB needed")
    right.set_xlabel("s per step, predicted")
    left.set_xlim(0, 470)
    right.set_xlim(0, 46)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.set_axisbelow(True)
        axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    return Drawing(
        figure,
        f"Two panels of bars, memory and time of a step of {SEQUENCES} sequences on a {chip.title}, whose programs can "
        f"use {chip.usable_bytes / GB:.1f} GB: {'; '.join(said)}.",
    )
