"""Three questions that find the axis of a bottleneck."""

from explorable.figures.drawing import Drawing, arrow, box, diagram

QUESTIONS = (
    ("Faster with one batch\nthat stays on the GPU?", "Data", "load earlier, in\nmore workers", "data"),
    ("Same time with\ntwice the batch?", "Machine", "fewer launches,\nless per step", "memory"),
    ("Most time in kernels\nbelow the ridge?", "Machine", "fuse kernels,\nfewer bits", "memory"),
)
"""What to try or ask, the axis if the answer is yes, what then helps, its color."""


def draw() -> Drawing:
    """A column of questions; yes leads to the right, no down."""
    figure, axes = diagram(4.1, 12, 10)
    for place, (question, axis, help_, ink) in enumerate(QUESTIONS):
        y = 8.3 - 2.6 * place
        box(axes, 0.2, y, 5.0, 1.5, question, "fg")
        box(axes, 6.9, y, 4.9, 1.5, "", ink)
        axes.text(9.35, y + 1.2, axis, ha="center", va="center", weight="bold")
        axes.text(9.35, y + 0.55, help_, ha="center", va="center", linespacing=1.3)
        arrow(axes, (5.2, y + 0.75), (6.9, y + 0.75))
        axes.text(6.0, y + 0.95, "yes", ha="center")
        arrow(axes, (2.7, y), (2.7, y - 1.1))
        axes.text(2.95, y - 0.6, "no", va="center")
    box(axes, 0.2, 0.5, 5.0, 1.5, "Algorithm\nless of it, or faster", "compute")
    axes.text(6.9, 1.25, "then measure\nand ask again", va="center", linespacing=1.35)
    return Drawing(
        figure,
        "Three questions in a column. Is the step faster with one batch that stays on the GPU? Then the axis is Data: "
        "load earlier, in more workers. Does it take the same time with twice the batch? Machine: fewer launches, less "
        "per step. Is most time in kernels below the ridge? Machine: fuse kernels, fewer bits. Three times "
        "no: Algorithm, less arithmetic or faster. Then measure and ask again.",
    )
