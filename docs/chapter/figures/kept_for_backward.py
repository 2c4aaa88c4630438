"""A network of two weights: the way forward, the way back, and what is kept in between."""

from explorable.figures.drawing import Drawing, arrow, box, diagram
from explorable.shared.svg import INK

STAGES = (("times $w_1$", "$u$"), ("ReLU", "$r$"), ("times $w_2$", "$y$"), ("loss", ""))
KEPT = ("$x$", "$u$", "$r$", "$y - t$")


def draw() -> Drawing:
    """Forward boxes above, backward boxes below, what each of them passes down in between."""
    figure, axes = diagram(2.7, 13.2, 7.6)
    axes.text(0.2, 7.2, "forward", color=INK["compute"], fontweight="bold", va="center")
    axes.text(0.2, 0.35, "backward", color=INK["compute"], fontweight="bold", va="center")
    axes.text(0.35, 5.85, "$x$", va="center", ha="center")
    arrow(axes, (0.65, 5.85), (1.2, 5.85))
    for place, ((name, result), kept) in enumerate(zip(STAGES, KEPT, strict=True)):
        left = 1.2 + 3.1 * place
        box(axes, left, 5.2, 2.2, 1.3, name, "compute")
        box(
            axes,
            left,
            1.0,
            2.2,
            1.3,
            ("$\\partial w_1$", "slope", "$\\partial w_2$", "error")[place],
            "compute",
            filled=True,
        )
        box(axes, left + 0.35, 3.2, 1.5, 1.0, kept, "activation")
        arrow(axes, (left + 1.1, 5.15), (left + 1.1, 4.25), "activation")
        arrow(axes, (left + 1.1, 3.15), (left + 1.1, 2.35), "activation")
        if result:
            arrow(axes, (left + 2.2, 5.85), (left + 3.1, 5.85))
            axes.text(left + 2.65, 6.2, result, ha="center", va="bottom")
            arrow(axes, (left + 3.1, 1.65), (left + 2.2, 1.65))
            back = result.replace("$", "")
            axes.text(left + 2.65, 1.35, f"$\\partial {back}$", ha="center", va="top")
    axes.text(0.35, 3.7, "kept", color=INK["activation"], fontweight="bold", va="center", ha="center", rotation=90)
    return Drawing(
        figure,
        "Forward, from left to right: x is multiplied by the first weight and becomes u, ReLU makes it r, the second "
        "weight makes it y, and the loss compares y with the target t. Backward, from right to left: the error y - t "
        "is passed back. The gradient of the second weight takes r, the slope of ReLU takes u, the gradient of the "
        "first weight takes x. These four values are kept in between.",
    )
