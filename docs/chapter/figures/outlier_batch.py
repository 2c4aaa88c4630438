"""One faulty batch in the middle of a training: without a guard FP16 never comes back."""

from book.palette import FORMATS, GUARDS
from book.runs import compared, finish, losses, seeds_of, told
from explorable.figures.drawing import Drawing
from explorable.shared.svg import INK

RUNS = {
    "fp16-scaled": (GUARDS["scaled"], "-", "FP16 with a scaler"),
    "fp16": (FORMATS["fp16"], "-", "FP16"),
    "fp16-clipped": (GUARDS["clipped"], ":", "FP16, clipped"),
}
"""Before the faulty batch they are the same: the first is drawn widest, and the others inside it."""
BLOCK = compared("failures", "failure-outlier")
CONTROLS = (seeds_of(BLOCK),)


def draw(seed: int | None) -> Drawing:
    """The loss of each seed; a cross where it is a number for the last time."""
    figure, axes = losses(BLOCK, RUNS, 2.5, seed, nested=0.85)
    at = BLOCK["runs"]["fp16"]["settings"]["outlier_step"]
    axes.axvline(at, color=INK["control"], linewidth=0.9, linestyle=":")
    axes.text(at + 4, 2.35, "faulty batch", color=INK["muted"], va="center")
    axes.set_ylim(0, 2.5)
    finish(figure, axes, "step", "loss of the batch", grid=False)
    words = told(BLOCK, RUNS, seed=seed)
    return Drawing(figure, f"Loss over steps, a line for each seed. A faulty batch comes at step {at}. Then {words}.")
