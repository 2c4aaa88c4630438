"""From one token to a whole training run of GPT-2 XL, in operations."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import model
from ironlaw.graph import count_operations

STEPS, BATCH, SEQUENCE = 32_000, 1024, 1024
"""The run of this book, as the page on the iron law defines it."""


def draw() -> Drawing:
    """Operations on a logarithmic axis, from a token's forward pass to the run."""
    network = model("gpt2-xl")
    one = count_operations(network, 1, SEQUENCE, attention="standard")
    step = count_operations(network, BATCH, SEQUENCE, attention="standard").model
    rows = [
        ("a token, forward", one.forward / SEQUENCE),
        (f"{SEQUENCE:,} tokens, forward", one.forward),
        ("the same, and backward", one.model),
        (f"a step of {BATCH:,} sequences", step),
        (f"{STEPS:,} steps", step * STEPS),
    ]
    figure, axes = canvas(2.4)
    names, values = zip(*rows, strict=True)
    axes.plot(values, names, color=INK["compute"], marker="o", markersize=8, linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(1e8, 1e25)
    axes.set_xlabel("FLOPs")
    axes.set_xticks([1e9, 1e12, 1e15, 1e18, 1e21])
    axes.minorticks_off()
    for place, value in enumerate(values):
        axes.annotate(scientific(value), (value, place), (8, 4), textcoords="offset points", va="center")
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    axes.margins(y=0.12)
    axes.invert_yaxis()
    listed = "; ".join(f"{name}: {scientific(value)}" for name, value in rows)
    return Drawing(figure, f"Dots of operations on a logarithmic axis, each some orders above the last. {listed}.")


def scientific(value: float) -> str:
    """A number to two digits: `3.4 × 10⁹`."""
    mantissa, _, power = f"{value:.1e}".partition("e+")
    return f"{mantissa} × 10{str(int(power)).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
