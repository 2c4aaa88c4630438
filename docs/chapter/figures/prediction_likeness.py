"""How like the real updates the predicted ones are, one step ahead and farther."""

from plugins.book.drawing import Drawing, canvas
from plugins.book.runs import compared, likeness
from plugins.shared.svg import INK

RUNS = {
    "last-update": ("compute", "-", "o"),
    "mean-update": ("memory", "--", "s"),
    "linear-fit": ("limit", "-.", "^"),
    "dynamic-modes": ("optimizer", ":", "D"),
    "recurrent": ("data", "-", "v"),
}


def draw() -> Drawing:
    """The cosine between predicted and real update over the steps ahead, over all seeds."""
    block = compared("hybrid", "hybrid-digits")
    figure, axes = canvas(2.7)
    said = []
    for run, (ink, line, marker) in RUNS.items():
        ahead, cosines = likeness(block, run, "cosine")
        style = {"linestyle": line, "marker": marker, "markersize": 4, "linewidth": 1.2}
        axes.plot(ahead, cosines, color=INK[ink], label=run, **style)  # type: ignore[arg-type]
        said.append(f"{run} {cosines[0]:.2f} one step ahead and {cosines[-1]:.2f} {ahead[-1]} steps ahead")
    axes.set_xlabel("steps ahead")
    axes.set_ylabel("cosine to the real update")
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=3, loc="outside upper left")
    return Drawing(figure, f"Cosine between predicted and real update: {'; '.join(said)}.")
