"""One faulty batch in the middle of a training: without a guard FP16 never comes back."""

from plugins.book.drawing import Drawing, canvas
from plugins.book.runs import compared, curve, told
from plugins.shared.svg import INK

RUNS = {"fp16": ("limit", "-"), "fp16-clipped": ("data", "--"), "fp16-scaled": ("compute", "-")}


def draw() -> Drawing:
    """The loss of each seed; a cross where it is a number for the last time."""
    block = compared("failures", "failure-outlier")
    figure, axes = canvas(2.5)
    for run, (ink, line) in RUNS.items():
        curve(axes, block, run, ink, line)
    at = block["runs"]["fp16"]["settings"]["outlier_step"]
    axes.axvline(at, color=INK["control"], linewidth=0.9, linestyle=":")
    axes.text(at + 4, 2.35, "faulty batch", color=INK["muted"], va="center")
    axes.set_xlabel("step")
    axes.set_ylabel("loss of the batch")
    axes.set_ylim(0, 2.5)
    figure.legend(frameon=False, ncols=3, loc="outside upper left")
    words = told(block, *RUNS)
    return Drawing(
        figure, f"Loss over steps, a thin line for each seed. A faulty batch comes at step {at}. Then {words}."
    )
