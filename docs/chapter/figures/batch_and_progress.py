"""Steps and examples to the same loss, by the batch."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw.training.dynamics import examples_to_target, steps_to_target

BATCHES = [2 ** (power / 4) for power in range(-20, 21)]
"""In units of the critical batch."""


def draw() -> Drawing:
    """Two curves that cross at the critical batch."""
    figure, axes = canvas(2.5)
    steps = [steps_to_target(batch, 1, 1) for batch in BATCHES]
    examples = [examples_to_target(batch, 1, 1) for batch in BATCHES]
    axes.plot(BATCHES, steps, color=INK["compute"], linewidth=1.6, label="steps: time")
    axes.plot(BATCHES, examples, color=INK["data"], linewidth=1.6, linestyle="--", label="examples: cost")
    axes.plot([1], [2], "o", color=INK["fg"], markersize=5)
    leader = {"arrowstyle": "-", "color": INK["control"], "linewidth": 0.8, "shrinkB": 4}
    axes.annotate("critical batch", (1, 2), (1, 4.6), ha="center", arrowprops=leader)
    axes.set_xscale("log", base=2)
    axes.set_ylim(0, 10)
    axes.set_xticks([1 / 16, 1 / 4, 1, 4, 16], ["1/16", "1/4", "1", "4", "16"])
    axes.set_yticks([1, 2, 5, 10])
    axes.minorticks_off()
    axes.set_xlabel("batch, in critical batches")
    axes.set_ylabel("times the least")
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=2, loc="outside upper left")
    at = {batch: (steps_to_target(batch, 1, 1), examples_to_target(batch, 1, 1)) for batch in (0.25, 1, 4)}
    said = "; ".join(f"at {batch:g}, {one:.2f} times the steps and {other:.2f}" for batch, (one, other) in at.items())
    return Drawing(
        figure,
        f"Steps fall and examples rise with the batch. In multiples of the least, {said} times the examples. The "
        "curves cross at the critical batch.",
    )
