"""The step time of GPT-2 XL as one lever after the other is pulled, predicted by the engine."""

from typing import Any

from explorable.figures.drawing import Drawing, canvas
from explorable.figures.sketch import percent
from explorable.shared.svg import INK
from ironlaw import model, step_time

BATCH = 4
"""Sequences; with eight, two of the rows would not fit the card."""
CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("FP32", {"precision": "fp32", "attention": "standard"}),
    ("TF32 products", {"precision": "tf32", "attention": "standard"}),
    ("BF16 autocast", {"precision": "amp-bf16", "attention": "standard"}),
    ("fused attention", {"precision": "amp-bf16"}),
    ("fused kernels", {"precision": "amp-bf16", "execution": "compiled"}),
)


def draw() -> Drawing:
    """Bars of milliseconds, divided by what bounds them."""
    steps = [(name, step_time(model("gpt2-xl"), "h100-sxm", BATCH, 1024, **change)) for name, change in CHANGES]
    figure, axes = canvas(2.5)
    names = [name for name, _ in steps]
    compute = [1000 * step.compute for _, step in steps]
    rest = [1000 * (step.total - step.compute) for _, step in steps]
    # The first is several times as long as the others. A piece is torn out of it, so that they can be told apart.
    right = 1700 * steps[1][1].total
    torn = right - 8 - rest[0]
    begins = [torn, *compute[1:]]
    axes.barh(names, begins, color=INK["compute"], height=0.6, label="arithmetic")
    style = {"facecolor": INK["surface"], "edgecolor": INK["memory"], "hatch": "//"}
    axes.barh(names, rest, left=begins, height=0.6, label="memory and launches", **style)  # type: ignore[arg-type]
    edge = [(torn - 26 + 5 * (step % 2), 0.4 - 0.2 * step) for step in range(5)]
    edge += [(x + 12, y) for x, y in reversed(edge)]
    axes.fill(*zip(*edge, strict=True), color=INK["bg"], linewidth=0)
    for place, (_, step) in enumerate(steps):
        words = f"{1000 * step.total:,.0f} ms, MFU {percent(step.mfu)}"
        if place == 0:
            axes.text(6, place, words, va="center", color=INK["bg"])
        else:
            axes.text(1000 * step.total + 8, place, words, va="center")
    axes.set_xlim(0, right)
    axes.set_xlabel("ms per step, predicted")
    figure.legend(frameon=False, ncols=2, loc="outside upper left")
    axes.invert_yaxis()
    listed = "; ".join(f"{name} {1000 * step.total:,.0f} ms at an MFU of {percent(step.mfu)}" for name, step in steps)
    return Drawing(figure, f"Predicted time of a step on one H100, {BATCH} sequences: {listed}.")
