"""Three questions that find the axis of a bottleneck."""

from explorable.figures.drawing import Drawing, arrow, box, diagram, lines

QUESTIONS = (
    ("Faster with one batch\nthat stays on the GPU?", "Data", "load earlier, in\nmore workers", "data"),
    ("Same time with\ntwice the batch?", "Machine", "fewer launches,\nless per step", "memory"),
    ("Most time in kernels\nbelow the ridge?", "Machine", "fuse kernels,\nfewer bits", "memory"),
)
"""What to try or ask, the axis if the answer is yes, what then helps, its color."""


def draw() -> Drawing:
    """A column of questions; yes leads to the right, no down."""
    figure, axes = diagram(4.6, 12, 11.2)
    for place, (question, axis, help_, ink) in enumerate(QUESTIONS):
        y = 8.9 - 2.8 * place
        box(axes, 0.2, y, 5.0, 1.9, question, "fg")
        box(axes, 6.9, y, 4.9, 1.9, f"\n{help_}", ink)
        lines(axes, 9.35, y + 0.95, f"{axis}\n\n", "center", "bold")
        arrow(axes, (5.2, y + 0.95), (6.9, y + 0.95))
        axes.text(6.0, y + 1.15, "yes", ha="center")
        arrow(axes, (2.7, y), (2.7, y - 0.9))
        axes.text(2.95, y - 0.45, "no", va="center")
    box(axes, 0.2, 0.5, 5.0, 1.9, "\nless of it, or faster", "compute")
    lines(axes, 2.7, 1.45, "Algorithm\n", "center", "bold")
    lines(axes, 6.9, 1.45, "then measure\nand ask again", "left")
    return Drawing(
        figure,
        "Three questions in a column. Is the step faster with one batch that stays on the GPU? Then the axis is Data: "
        "load earlier, in more workers. Does it take the same time with twice the batch? Machine: fewer launches, less "
        "per step. Is most time in kernels below the ridge? Machine: fuse kernels, fewer bits. Three times "
        "no: Algorithm, less arithmetic or faster. Then measure and ask again.",
    )
