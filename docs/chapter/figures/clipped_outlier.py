"""The same faulty batch in formats that do not overflow, with and without clipping."""

from plugins.book.drawing import Drawing, canvas
from plugins.book.runs import compared, curve, seeds_of, told
from plugins.shared.svg import INK

RUNS = {"fp32": ("limit", "-"), "bf16": ("data", "--"), "fp32-clipped": ("compute", "-")}
BLOCK = compared("failures", "failure-clipping")
CONTROLS = (seeds_of(BLOCK),)


def draw(seed: int | None) -> Drawing:
    """The loss of each seed on a logarithmic axis, because one batch throws it far up."""
    figure, axes = canvas(2.5)
    for run, (ink, line) in RUNS.items():
        curve(axes, BLOCK, run, ink, line, seed=seed)
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("loss of the batch")
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=3, loc="outside upper left")
    words = told(BLOCK, *RUNS, seed=seed)
    return Drawing(figure, f"Loss over steps on a logarithmic axis, a line for each seed: {words}.")
