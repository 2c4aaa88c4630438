"""The order of questions that the chapter asks of a training run."""

from explorable.figures.drawing import Drawing, arrow, box, diagram


def draw() -> Drawing:
    """Three questions one below the other, each with what to do when the answer is no."""
    figure, axes = diagram(3.4, 12, 9)
    rows = (
        (6.6, "Does it fit?", "memory", "fewer bits, recompute,\nsmaller batch"),
        (3.5, "Is it busy?", "data", "find who waits:\ninput, memory, launches"),
        (0.4, "Is it soon enough?", "compute", "add devices, and\ncount what they send"),
    )
    for y, question, ink, remedy in rows:
        box(axes, 0.2, y, 4.4, 1.7, question, ink)
        box(axes, 6.6, y, 5.2, 1.7, remedy, "fg")
        arrow(axes, (4.6, y + 0.85), (6.6, y + 0.85))
        axes.text(5.55, y + 1.05, "no", ha="center", va="bottom")
    for above, below in ((6.6, 5.2), (3.5, 2.1)):
        arrow(axes, (2.4, above), (2.4, below))
        axes.text(2.6, (above + below) / 2, "yes", va="center")
    return Drawing(
        figure,
        "Three questions in order. Does it fit? If not: fewer bits, recompute, a smaller batch. If yes: is it busy? If "
        "not, find who waits: input, memory or launches. If yes: is it soon enough? If not, add devices and count what "
        "they send.",
    )
