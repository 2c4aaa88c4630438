"""How four optimizers walk down the same narrow valley."""

import math

from engine.training import descend
from plugins.book.drawing import Drawing, canvas
from plugins.shared.svg import INK

STEEP, START, STEPS = 100.0, (-1.0, 0.22), 50
RULES = {
    "sgd": ("SGD", 0.018, "memory", "o", "-"),
    "momentum": ("momentum", 0.008, "data", "s", "--"),
    "rmsprop": ("RMSprop", 0.02, "optimizer", "^", ":"),
    "adam": ("Adam", 0.05, "compute", "D", "-."),
}
"""Title, learning rate, ink, marker, line. Each rate is a good one for its rule here."""


def draw() -> Drawing:
    """Lines of equal loss, and each optimizer's path from the same start."""
    figure, axes = canvas(3.2)
    side = [index / 40 for index in range(-48, 17)]
    up = [index / 60 for index in range(-18, 19)]
    loss = [[(x * x + STEEP * y * y) / 2 for x in side] for y in up]
    axes.contour(side, up, loss, levels=[0.02, 0.1, 0.25, 0.5, 0.9, 1.6, 2.6], colors=INK["control"], linewidths=0.7)
    ends = {}
    for name, (title, rate, ink, marker, line) in RULES.items():
        path = descend(name, rate, lambda w: (w[0], STEEP * w[1]), START, STEPS)
        style = {"color": INK[ink], "marker": marker, "linestyle": line, "markersize": 3.2, "linewidth": 1.2}
        axes.plot([w[0] for w in path], [w[1] for w in path], label=title, **style)  # type: ignore[arg-type]
        ends[title] = math.hypot(*path[-1])
    axes.plot(0, 0, marker="*", markersize=11, color=INK["limit"], linestyle="none")
    axes.set_xlabel("the flat direction")
    axes.set_ylabel("the steep direction")
    figure.legend(frameon=False, ncols=4, loc="outside upper left", handlelength=1.8, columnspacing=0.9)
    listed = ", ".join(f"{title} {distance:.3f}" for title, distance in ends.items())
    return Drawing(
        figure,
        f"Four paths over the ellipses of a valley that is {STEEP:.0f} times steeper across than along, from the same "
        "start to the star at its lowest point. SGD zigzags across, momentum swings wide, RMSprop and Adam leave the "
        f"steep side early. Distance from the star after {STEPS} steps: {listed}.",
    )
