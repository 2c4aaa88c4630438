"""How large the gradients of a small network are, and where three formats end."""

from math import log2

from book.runs import compared
from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw.numerics import float_format

FORMATS = {"fp8-e5m2": "E5M2", "fp16": "FP16", "bf16": "BF16"}


def draw() -> Drawing:
    """Bars by power of two, and a line for each format below which everything becomes zero."""
    block = compared("failures", "failure-underflow")
    seed = block["runs"][block["reference"]]["seeds"][0]
    last = seed["histograms"][-1]
    total = sum(last["counts"])
    figure, axes = canvas(2.5)
    bins = [(last["lowest"] + index, count / total) for index, count in enumerate(last["counts"]) if count]
    axes.bar([power for power, _ in bins], [100 * share for _, share in bins], color=INK["compute"], width=0.9)
    top = 100 * max(share for _, share in bins)
    for name, title in FORMATS.items():
        power = log2(float_format(name).smallest_subnormal / 2)
        if power > bins[0][0] - 30:
            axes.axvline(power + 0.5, color=INK["limit"], linewidth=1.1, linestyle="--")
            axes.text(power - 0.1, top * 1.06, title, color=INK["limit"], ha="right", va="center")
    axes.set_xlabel("size of the gradient, as a power of two")
    axes.set_ylabel("% of the gradients")
    axes.set_ylim(0, top * 1.14)
    lost = ", ".join(f"{title} {100 * last['lost'][name]:.0f} %" for name, title in FORMATS.items())
    words = f"After {last['step']} steps, the sizes of {total:,} gradients. Rounded to zero: {lost}."
    return Drawing(figure, words)
