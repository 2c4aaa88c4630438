"""Weights that are kept in 16 bits forget small updates; a copy in FP32 remembers them."""

from plugins.book.drawing import Drawing, canvas
from plugins.book.runs import compared, curve, told
from plugins.shared.svg import INK

RUNS = {"bf16": ("data", "--"), "fp16": ("limit", "-"), "fp16-master": ("compute", "-")}


def draw() -> Drawing:
    """The loss of each seed."""
    block = compared("failures", "failure-updates")
    figure, axes = canvas(2.5)
    for run, (ink, line) in RUNS.items():
        curve(axes, block, run, ink, line)
    axes.set_xlabel("step")
    axes.set_ylabel("loss of the batch")
    axes.set_ylim(0, 2.6)
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=3, loc="outside upper left")
    return Drawing(figure, f"Loss over steps, a thin line for each seed: {told(block, *RUNS)}.")
