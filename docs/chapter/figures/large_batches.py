"""A batch eight times as large over the same images: at the same learning rate, and at eight times it."""

from book.runs import compared, finish, losses, seeds_of, told
from explorable.figures.drawing import Drawing

RUNS = {
    "batch-16": ("muted", ":", "batch 16"),
    "batch-128": ("limit", "-", "128, same rate"),
    "batch-128-8x": ("compute", "-", "128, 8 × rate"),
}
BLOCK = compared("failures", "failure-large-batch")
CONTROLS = (seeds_of(BLOCK),)


def draw(seed: int | None) -> Drawing:
    """The loss of each seed over the images seen, so that all runs end at the same place."""
    figure, axes = losses(BLOCK, RUNS, 2.5, seed, by="images")
    axes.set_ylim(0, 2.5)
    axes.set_xticks([0, 10_000, 20_000], ["0", "10,000", "20,000"])
    finish(figure, axes, "images seen", "loss of the batch")
    return Drawing(figure, f"Loss over images seen, a line for each seed: {told(BLOCK, RUNS, seed=seed)}.")
