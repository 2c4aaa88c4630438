"""Gradients that are too small for FP16, and what scaling the loss does to them."""

from plugins.book.drawing import Drawing, canvas
from plugins.book.runs import compared, curve, seeds_of, told
from plugins.shared.svg import INK

RUNS = {"fp16": ("limit", "-"), "fp16-static": ("memory", "--"), "fp16-dynamic": ("compute", "-")}
BLOCK = compared("failures", "failure-underflow")
CONTROLS = (seeds_of(BLOCK),)


def draw(seed: int | None) -> Drawing:
    """The loss of each seed, without a scale and with two kinds of one."""
    figure, axes = canvas(2.4)
    for run, (ink, line) in RUNS.items():
        curve(axes, BLOCK, run, ink, line, seed=seed)
    axes.set_xlabel("step")
    axes.set_ylabel("squared error of a pixel")
    axes.set_ylim(0, 0.15)
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=3, loc="outside upper left")
    return Drawing(figure, f"Loss over steps, a line for each seed: {told(BLOCK, *RUNS, seed=seed)}.")
