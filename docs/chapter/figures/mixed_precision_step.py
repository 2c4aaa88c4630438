"""One step of mixed precision: which number format each part of the loop is in."""

from explorable.figures.drawing import Drawing, arrow, box, diagram
from ironlaw.numerics import dtype


def draw() -> Drawing:
    """A loop of four boxes: master copy, working weights, passes, update."""
    short, full = (int(dtype(name).bits / 8) for name in ("bf16", "fp32"))
    figure, axes = diagram(3.0, 12, 7.8)
    box(axes, 0.2, 5.3, 3.6, 2.1, f"master copy\nFP32, {full} bytes", "optimizer")
    box(axes, 6.9, 5.3, 4.9, 2.1, f"working weights\n16 bits, {short} bytes", "memory")
    box(axes, 6.9, 0.4, 4.9, 2.4, "forward, backward\nproducts of 16 bits,\nsums in FP32", "compute")
    box(axes, 0.2, 0.4, 3.6, 2.4, f"gradients\n16 bits, {short} bytes\ndivided by S", "data")
    arrow(axes, (3.8, 6.35), (6.9, 6.35))
    axes.text(5.35, 6.65, "round", ha="center", va="bottom")
    arrow(axes, (9.35, 5.3), (9.35, 2.8))
    axes.text(9.1, 4.05, "loss times S", ha="right", va="center")
    arrow(axes, (6.9, 1.6), (3.8, 1.6))
    arrow(axes, (2.0, 2.8), (2.0, 5.3))
    axes.text(2.25, 4.05, "update\nin FP32", ha="left", va="center")
    return Drawing(
        figure,
        f"A loop. The master copy, FP32 with {full} bytes for each weight, is rounded to working weights of 16 bits, "
        f"{short} bytes. Forward and backward pass multiply them and sum in FP32, with the loss times a scale S. The "
        "gradients, 16 bits, are divided by S and update the master copy in FP32.",
    )
