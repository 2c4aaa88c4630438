"""How a dynamic scale finds its place: halved after each overflow, doubled after a while without one."""

from math import log2

from book.palette import GUARDS
from book.runs import compared
from explorable.figures.drawing import Drawing, canvas, y_title
from explorable.shared.svg import INK


def draw() -> Drawing:
    """The factor of the loss over steps, as a power of two."""
    block = compared("failures", "failure-underflow")
    run = block["runs"]["fp16-dynamic"]
    figure, axes = canvas(2.3)
    ends = []
    for place, seed in enumerate(run["seeds"]):
        powers = [log2(value) for value in seed["curves"]["scale"]]
        ends.append(powers)
        # The lines of all seeds lie on each other in part: one is drawn.
        if place == 0:
            steps = [index * seed["every"] for index in range(len(powers))]
            axes.step(steps, powers, where="post", color=INK[GUARDS["scaled"]], linewidth=1.6)
    axes.set_xlabel("step")
    y_title(axes, "scale, as a power of two")
    axes.grid(color=INK["border"], linewidth=0.6)
    first, low, high = ends[0][0], min(map(min, ends)), max(max(powers[len(powers) // 2 :]) for powers in ends)
    words = f"The scale begins at 2 to the {first:.0f}, falls to 2 to the {low:.0f} at the lowest, "
    return Drawing(figure, f"{words}and in the second half of the run reaches at most 2 to the {high:.0f}.")
