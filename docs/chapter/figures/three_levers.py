"""The iron law as a fraction with its levers."""

from explorable.figures.drawing import Drawing, arrow, box, diagram, lines
from explorable.shared.svg import INK


def draw() -> Drawing:
    """Time as operations over devices times peak times utilization; a lever at each."""
    figure, axes = diagram(2.9, 12, 7.6)
    box(axes, 0.2, 3.3, 2.3, 1.5, "time", "fg")
    axes.text(2.95, 4.05, "=", ha="center", va="center", fontsize=14)
    box(axes, 4.4, 4.5, 6.6, 1.2, "operations", "compute")
    axes.plot([3.5, 11.9], [4.05, 4.05], color=INK["fg"], linewidth=1.4)
    box(axes, 3.5, 2.4, 2.3, 1.2, "devices", "memory")
    box(axes, 6.1, 2.4, 2.5, 1.2, "peak rate", "memory")
    box(axes, 8.9, 2.4, 3.0, 1.2, "utilization", "data")
    axes.text(7.7, 7.2, "1  do less arithmetic", ha="center", va="center", fontweight="bold")
    arrow(axes, (7.7, 6.85), (7.7, 5.75))
    lines(axes, 5.9, 0.55, "2  use faster\narithmetic", "center", "bold")
    arrow(axes, (6.6, 1.2), (7.1, 2.35))
    arrow(axes, (5.4, 1.2), (4.8, 2.35))
    axes.text(10.3, 0.55, "3  wait less", ha="center", va="center", fontweight="bold")
    arrow(axes, (10.3, 1.0), (10.3, 2.35))
    return Drawing(
        figure,
        "Time equals operations over the product of devices, peak rate and utilization. Three levers: do less "
        "arithmetic acts on operations; use faster arithmetic on devices and peak rate; wait less on utilization.",
    )
