"""Gradients that are too small for FP16, and what scaling the loss does to them."""

from book.runs import compared, finish, losses, seeds_of, told
from explorable.figures.drawing import Drawing

RUNS = {
    "fp16": ("limit", "-", "FP16, no scale"),
    "fp16-static": ("memory", "--", "fixed scale"),
    "fp16-dynamic": ("compute", "-", "dynamic scale"),
}
BLOCK = compared("failures", "failure-underflow")
CONTROLS = (seeds_of(BLOCK),)


def draw(seed: int | None) -> Drawing:
    """The loss of each seed, without a scale and with two kinds of one."""
    figure, axes = losses(BLOCK, RUNS, 2.4, seed)
    axes.set_ylim(0, 0.15)
    finish(figure, axes, "step", "squared error of a pixel")
    return Drawing(figure, f"Loss over steps, a line for each seed: {told(BLOCK, RUNS, seed=seed)}.")
