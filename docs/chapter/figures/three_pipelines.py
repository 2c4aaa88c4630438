"""The parts of a training system, and the hardware that each of them keeps busy."""

from explorable.figures.drawing import Drawing, arrow, box, diagram, lines

STAGES = (
    ("read", "disk or\nnetwork", "data"),
    ("prepare", "processor\ncores", "data"),
    ("copy", "link to\nthe GPU", "memory"),
    ("train", "\nGPU", "compute"),
)
"""What happens to a batch, on which hardware, and its color."""


def draw() -> Drawing:
    """The data's way from left to right, and what hangs on the training loop."""
    figure, axes = diagram(2.5, 12, 6.6)
    for place, (name, hardware, ink) in enumerate(STAGES):
        left = 0.2 + 3.0 * place
        lines(axes, left + 1.2, 5.8, hardware, "center")
        box(axes, left, 3.7, 2.4, 1.3, name, ink)
        if place:
            arrow(axes, (left - 0.6, 4.35), (left, 4.35))
    box(axes, 2.6, 0.5, 4.4, 1.6, "evaluate\nforward pass only", "compute")
    box(axes, 8.0, 0.5, 3.6, 1.6, "save\na checkpoint file", "memory")
    arrow(axes, (9.6, 3.7), (6.2, 2.1))
    arrow(axes, (10.4, 3.7), (10.0, 2.1))
    axes.text(7.3, 3.0, "now and then", ha="right", va="center")
    return Drawing(
        figure,
        "A chain of four stages with the hardware of each: read, on a disk or network; prepare, on processor cores; "
        "copy, over the link to the GPU; train, on the GPU. From training, two arrows marked now and then lead to "
        "evaluation, which is a forward pass only, and to saving a checkpoint file.",
    )
