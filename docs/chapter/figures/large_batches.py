"""A batch eight times as large over the same images: at the same learning rate, and at eight times it."""

from plugins.book.drawing import Drawing, canvas
from plugins.book.runs import compared, curve, seeds_of, told
from plugins.shared.svg import INK

RUNS = {"batch-16": ("muted", ":"), "batch-128": ("limit", "-"), "batch-128-8x": ("compute", "-")}
BLOCK = compared("failures", "failure-large-batch")
CONTROLS = (seeds_of(BLOCK),)


def draw(seed: int | None) -> Drawing:
    """The loss of each seed over the images seen, so that all runs end at the same place."""
    figure, axes = canvas(2.5)
    for run, (ink, line) in RUNS.items():
        curve(axes, BLOCK, run, ink, line, by="images", seed=seed)
    axes.set_xlabel("images seen")
    axes.set_ylabel("loss of the batch")
    axes.set_ylim(0, 2.5)
    axes.set_xticks([0, 10_000, 20_000], ["0", "10,000", "20,000"])
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=3, loc="outside upper left")
    return Drawing(figure, f"Loss over images seen, a line for each seed: {told(BLOCK, *RUNS, seed=seed)}.")
