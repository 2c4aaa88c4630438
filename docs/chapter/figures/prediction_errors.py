"""How long the error of a predicted update is, beside the update itself."""

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
    """The error over the steps ahead, over all seeds; 1 is what predicting nothing gives."""
    block = compared("hybrid", "hybrid-digits")
    figure, axes = canvas(2.7)
    said = []
    for run, (ink, line, marker) in RUNS.items():
        ahead, errors = likeness(block, run, "error")
        style = {"linestyle": line, "marker": marker, "markersize": 4, "linewidth": 1.2}
        axes.plot(ahead, errors, color=INK[ink], label=run, **style)  # type: ignore[arg-type]
        said.append(f"{run} {errors[0]:.2f} one step ahead and {errors[-1]:.2f} {ahead[-1]} steps ahead")
    axes.axhline(1, color=INK["control"], linewidth=0.9, linestyle=":")
    axes.set_yscale("log")
    axes.set_xlabel("steps ahead")
    axes.set_ylabel("error / length of the update")
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=3, loc="outside upper left")
    return Drawing(figure, f"Error of the predicted update beside the length of the real one: {'; '.join(said)}.")
