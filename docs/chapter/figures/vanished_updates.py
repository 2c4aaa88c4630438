"""Weights that are kept in 16 bits forget small updates; a copy in FP32 remembers them."""

from plugins.book.drawing import Drawing, canvas
from plugins.book.runs import compared, curve, seeds_of, told
from plugins.shared.svg import INK

RUNS = {"bf16": ("data", "--"), "fp16": ("limit", "-"), "fp16-master": ("compute", "-")}
BLOCK = compared("failures", "failure-updates")
CONTROLS = (seeds_of(BLOCK),)


def draw(seed: int | None) -> Drawing:
    """The loss of each seed."""
    figure, axes = canvas(2.5)
    for run, (ink, line) in RUNS.items():
        curve(axes, BLOCK, run, ink, line, seed=seed)
    axes.set_xlabel("step")
    axes.set_ylabel("loss of the batch")
    axes.set_ylim(0, 2.6)
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=3, loc="outside upper left")
    return Drawing(figure, f"Loss over steps, a line for each seed: {told(BLOCK, *RUNS, seed=seed)}.")
