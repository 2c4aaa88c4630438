"""Where the rule of scaling the learning rate with the batch breaks, and what mends it."""

from book.runs import compared, finish, losses, seeds_of, told
from explorable.figures.drawing import Drawing

RUNS = {
    "batch-128-8x": ("compute", "-", "batches of 128, 8 × the rate"),
    "batch-128-8x-warmup": ("memory", "--", "the same after a warm-up"),
    "batch-128-8x-warmup-clipped": ("fg", "-", "the same after a warm-up, with clipping"),
}
BLOCK = compared("failures", "failure-linear-scaling")
CONTROLS = (seeds_of(BLOCK),)


def draw(seed: int | None) -> Drawing:
    """The loss of each seed."""
    figure, axes = losses(BLOCK, RUNS, 2.6, seed)
    finish(figure, axes, "step", "loss of the batch", log=True, columns=1)
    words = told(BLOCK, RUNS, seed=seed)
    return Drawing(figure, f"Loss over steps on a logarithmic axis, a line for each seed: {words}.")
