"""One step of training as a loop, with the share of its operations in each part."""

from explorable.figures.drawing import Drawing, arrow, box, diagram, lines
from explorable.figures.sketch import percent
from ironlaw import model
from ironlaw.graph import count_operations


def draw() -> Drawing:
    """The loop of forward pass, backward pass and update, for GPT-2 XL."""
    count = count_operations(model("gpt2-xl"), 1, 1024, attention="standard")
    forward, backward = (percent(part / count.model) for part in (count.forward, count.backward))
    figure, axes = diagram(2.5, 12, 6.6)
    box(axes, 0.3, 4.2, 2.7, 1.9, "batch of\ntext", "data")
    box(axes, 4.2, 4.2, 3.2, 1.9, f"forward pass\n{forward} of FLOPs", "compute")
    box(axes, 8.4, 4.2, 3.4, 1.9, "loss\none number", "fg")
    box(axes, 8.4, 0.6, 3.4, 1.9, f"backward pass\n{backward} of FLOPs", "compute", filled=True)
    box(axes, 4.2, 0.6, 3.2, 1.9, "update\nevery weight", "optimizer")
    arrow(axes, (3.0, 5.15), (4.2, 5.15))
    arrow(axes, (7.4, 5.15), (8.4, 5.15))
    arrow(axes, (10.1, 4.2), (10.1, 2.5))
    arrow(axes, (8.4, 1.55), (7.4, 1.55))
    arrow(axes, (5.8, 2.5), (5.8, 4.2))
    lines(axes, 3.9, 1.55, "then again,\nwith new\nweights", "right")
    return Drawing(
        figure,
        f"A loop: a batch of text enters the forward pass, {forward} of the operations, which ends in the loss. "
        f"The backward pass follows, {backward}, then the update of every weight, then the next forward pass.",
    )
