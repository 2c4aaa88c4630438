"""Weights that are kept in 16 bits forget small updates; a copy in FP32 remembers them."""

from book.palette import FORMATS, GUARDS
from book.runs import compared, finish, losses, seeds_of, told
from explorable.figures.drawing import Drawing

RUNS = {
    "bf16": (FORMATS["bf16"], "--", "BF16"),
    "fp16": (FORMATS["fp16"], "-", "FP16"),
    "fp16-master": (GUARDS["FP32 copy"], "-", "FP16 with an FP32 copy"),
}
BLOCK = compared("failures", "failure-updates")
CONTROLS = (seeds_of(BLOCK),)


def draw(seed: int | None) -> Drawing:
    """The loss of each seed."""
    figure, axes = losses(BLOCK, RUNS, 2.5, seed)
    axes.set_ylim(0, 2.6)
    finish(figure, axes, "step", "loss of the batch")
    return Drawing(figure, f"Loss over steps, a line for each seed: {told(BLOCK, RUNS, seed=seed)}.")
