"""The same faulty batch in formats that do not overflow, with and without clipping."""

from book.palette import FORMATS, GUARDS
from book.runs import compared, finish, losses, seeds_of, told
from explorable.figures.drawing import Drawing

RUNS = {
    "fp32": (FORMATS["fp32"], "-", "FP32"),
    "bf16": (FORMATS["bf16"], "--", "BF16"),
    "fp32-clipped": (GUARDS["clipped"], "-", "FP32, clipped"),
}
BLOCK = compared("failures", "failure-clipping")
CONTROLS = (seeds_of(BLOCK),)


def draw(seed: int | None) -> Drawing:
    """The loss of each seed on a logarithmic axis, because one batch throws it far up."""
    figure, axes = losses(BLOCK, RUNS, 2.5, seed)
    finish(figure, axes, "step", "loss of the batch", log=True)
    words = told(BLOCK, RUNS, seed=seed)
    return Drawing(figure, f"Loss over steps on a logarithmic axis, a line for each seed: {words}.")
