"""The rate of a matrix product by its rows, where tiles fill the multiprocessors wave by wave."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import accelerator
from ironlaw.time import product_seconds
from ironlaw.time.gemm import sustained

H100 = accelerator("h100-sxm")
COLUMNS, DEPTH = 6400, 1600
ROWS = range(64, 6145, 64)


def draw() -> Drawing:
    """A saw: each tooth is a wave that was filled, and a next one that is nearly empty."""
    rates = {rows: 2 * rows * COLUMNS * DEPTH / product_seconds(rows, COLUMNS, DEPTH, H100) / 1e12 for rows in ROWS}
    figure, axes = canvas(2.6)
    axes.plot(list(rates), list(rates.values()), color=INK["compute"], linewidth=1.4)
    full = sustained(H100, "bf16") / 1e12
    axes.axhline(full, color=INK["limit"], linewidth=1.2, linestyle="--")
    axes.text(64, full + 15, "rate of large products", color=INK["limit"], va="bottom")
    falls = {rows: rates[rows] / rates[rows - 64] for rows in ROWS if rows > 1024}
    worst = min(falls, key=lambda rows: falls[rows])
    axes.plot([worst - 64, worst], [rates[worst - 64], rates[worst]], "o", color=INK["fg"], markersize=4)
    for rows, up in ((worst - 64, 74), (worst, -58)):
        axes.text(rows + 40, rates[rows] + up, f"{rows:,} rows: {rates[rows]:.0f}", va="center")
    axes.set_xlim(0, ROWS[-1])
    axes.set_ylim(0, 1.2 * full)
    axes.set_xticks([0, 2048, 4096, 6144], ["0", "2,048", "4,096", "6,144"])
    axes.set_xlabel("tokens in the batch (rows of the product)")
    axes.set_ylabel("TFLOP/s, predicted")
    axes.grid(color=INK["border"], linewidth=0.6)
    return Drawing(
        figure,
        f"A curve like a saw that rises towards {full:.0f} TFLOP/s. Its deepest fall beyond 1,024 rows is from "
        f"{rates[worst - 64]:.0f} TFLOP/s at {worst - 64:,} rows to {rates[worst]:.0f} at {worst:,}.",
    )
