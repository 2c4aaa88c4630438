"""A learning rate over a run: warm-up, then half a cosine."""

from explorable.figures.drawing import Drawing, canvas, y_title
from explorable.shared.svg import INK
from ironlaw.training import warmup_cosine

PEAK, WARMUP, STEPS = 6e-4, 700, 32_000
"""Of the run of this book: `scripts/run_gpt2_1558M.sh` of llm.c."""


def draw() -> Drawing:
    """The schedule of the run of this book, with its floor at a tenth of the peak."""
    floor = PEAK / 10
    steps = list(range(0, STEPS + 1, 250))
    rates = [1e4 * warmup_cosine(step, PEAK, WARMUP, STEPS, floor) for step in steps]
    figure, axes = canvas(2.1)
    axes.plot(steps, rates, color=INK["optimizer"], linewidth=1.6)
    axes.axvline(WARMUP, color=INK["control"], linewidth=0.9, linestyle="--")
    axes.text(WARMUP + 450, 1e4 * PEAK / 8, "warm-up ends", color=INK["muted"], va="bottom")
    axes.set_xticks([0, 8_000, 16_000, 24_000, 32_000], ["0", "8,000", "16,000", "24,000", "32,000"])
    axes.set_ylim(0, 1e4 * 1.1 * PEAK)
    axes.set_xlabel("step")
    y_title(axes, "learning rate (× 10⁻⁴)")
    axes.grid(color=INK["border"], linewidth=0.6)
    half = warmup_cosine(STEPS // 2, PEAK, WARMUP, STEPS, floor)
    return Drawing(
        figure,
        f"The rate rises in a straight line from 0 to {1e4 * PEAK:.1f} ten-thousandths over {WARMUP:,} steps, then "
        f"falls along half a cosine: {1e4 * half:.2f} halfway through the run, {1e4 * floor:.2f} at step {STEPS:,}.",
    )
