"""Where the rule of scaling the learning rate with the batch breaks, and what mends it."""

from plugins.book.drawing import Drawing, canvas
from plugins.book.runs import compared, curve, seeds_of, told
from plugins.shared.svg import INK

RUNS = {
    "batch-128-8x": ("limit", "-"),
    "batch-128-8x-warmup": ("memory", "--"),
    "batch-128-8x-warmup-clipped": ("compute", "-"),
}
BLOCK = compared("failures", "failure-linear-scaling")
CONTROLS = (seeds_of(BLOCK),)


def draw(seed: int | None) -> Drawing:
    """The loss of each seed."""
    figure, axes = canvas(2.6)
    for run, (ink, line) in RUNS.items():
        curve(axes, BLOCK, run, ink, line, seed=seed)
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("loss of the batch")
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=1, loc="outside upper left")
    words = told(BLOCK, *RUNS, seed=seed)
    return Drawing(figure, f"Loss over steps on a logarithmic axis, a line for each seed: {words}.")
