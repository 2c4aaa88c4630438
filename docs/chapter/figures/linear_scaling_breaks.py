"""Where the rule of scaling the learning rate with the batch breaks, and what mends it."""

from plugins.book.drawing import Drawing, canvas
from plugins.book.runs import compared, curve, told
from plugins.shared.svg import INK

RUNS = {
    "batch-128-8x": ("limit", "-"),
    "batch-128-8x-warmup": ("memory", "--"),
    "batch-128-8x-warmup-clipped": ("compute", "-"),
}


def draw() -> Drawing:
    """The loss of each seed."""
    block = compared("failures", "failure-linear-scaling")
    figure, axes = canvas(2.6)
    for run, (ink, line) in RUNS.items():
        curve(axes, block, run, ink, line)
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("loss of the batch")
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=1, loc="outside upper left")
    return Drawing(figure, f"Loss over steps on a logarithmic axis, a thin line for each seed: {told(block, *RUNS)}.")
