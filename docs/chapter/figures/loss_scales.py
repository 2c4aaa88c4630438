"""Gradients that are too small for FP16, and what scaling the loss does to them."""

from book.palette import FORMATS, GUARDS
from book.runs import compared, finish, losses, seeds_of, told
from explorable.figures.drawing import Drawing

RUNS = {
    "fp16-static": (GUARDS["fixed scale"], "-", "fixed scale"),
    "fp16-dynamic": (GUARDS["scaled"], "--", "dynamic scale"),
    "fp16": (FORMATS["fp16"], "-", "FP16, no scale"),
}
BLOCK = compared("failures", "failure-underflow")
CONTROLS = (seeds_of(BLOCK),)


def draw(seed: int | None) -> Drawing:
    """The loss of each seed, without a scale and with two kinds of one."""
    figure, axes = losses(BLOCK, RUNS, 2.5, seed, nested=0.5)
    axes.set_ylim(0, 0.15)
    finish(figure, axes, "step", "squared error of a pixel", above=True)
    return Drawing(figure, f"Loss over steps, a line for each seed: {told(BLOCK, RUNS, seed=seed)}.")
