"""The rate that a matrix product can reach by its number of rows."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import accelerator
from ironlaw.time import attainable, matmul_intensity

WIDTH, INNER = 1600, 6400
ROWS = tuple(2**power for power in range(14))


def draw() -> Drawing:
    """The roofline's bound for the first product of the MLP, on an H100, against the tokens in the batch."""
    chip = accelerator("h100-sxm")
    peak = chip.peak("bf16")
    rates = [attainable(matmul_intensity(rows, INNER, WIDTH), peak, chip.bandwidth) / 1e12 for rows in ROWS]
    full = next(rows for rows, rate in zip(ROWS, rates, strict=True) if rate >= peak / 1e12)
    figure, axes = canvas(2.5)
    axes.plot(ROWS, rates, color=INK["compute"], marker="o", markersize=4, linewidth=1.4, clip_on=False)
    axes.axhline(peak / 1e12, color=INK["limit"], linewidth=1.2, linestyle="--")
    axes.text(1, peak / 1e12 * 0.97, "peak", color=INK["limit"], va="top")
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 8, 64, 512, 4096], ["1", "8", "64", "512", "4,096"])
    axes.minorticks_off()
    axes.set_ylim(0, 1.1 * peak / 1e12)
    axes.set_xlabel("tokens in the batch (rows of the product)")
    axes.set_ylabel("TFLOP/s at most")
    axes.grid(color=INK["border"], linewidth=0.6)
    return Drawing(
        figure,
        f"A curve that rises with the rows and then meets the peak of {peak / 1e12:,.0f} TFLOP/s. With one row the "
        f"product reaches at most {rates[0]:.1f} TFLOP/s; between {full // 2:,} and {full:,} rows memory stops "
        "limiting it.",
    )
