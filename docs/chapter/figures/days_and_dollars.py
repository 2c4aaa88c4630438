"""What more GPUs do to the duration and the price of one fixed run."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import accelerator, job_time
from ironlaw.economics import days, rent

STEPS, BATCH, LARGEST = 32_000, 1024, 16
"""The run of this book, and the sequences that fit one GPU at a time."""
TURN = 256
"""Beyond, the line turns up, and a number stands left of its point, no longer below it."""
USD_PER_HOUR = 28 / 8
"""What our run paid for a card: llm.c's `scripts/run_gpt2_1558M.sh`, a node of eight in July 2024."""
DEVICES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def draw() -> Drawing:
    """Dollars over days, a point for each number of GPUs."""
    chip = accelerator("h100-sxm")
    durations, prices = [], []
    for devices in DEVICES:
        batch = min(LARGEST, BATCH // devices)
        pieces = BATCH // devices // batch
        settings = {"precision": "mixed", "execution": "compiled", "dp": devices, "micro_batches": pieces}
        stages = (0, 1) if devices > 1 else (0,)
        seconds = STEPS * min(job_time("gpt2-xl", chip, batch, zero=stage, **settings).total for stage in stages)
        durations.append(days(seconds))
        prices.append(rent(devices * seconds / 3600, USD_PER_HOUR))
    figure, axes = canvas(2.9)
    axes.plot(durations, prices, color=INK["compute"], marker="o", markersize=5, linewidth=1.2)
    for devices, duration, price in zip(DEVICES, durations, prices, strict=True):
        away, side = ((-8, 0), "right") if devices > TURN else ((0, -7), "center")
        where = {"xytext": away, "textcoords": "offset points", "ha": side, "va": "center" if devices > TURN else "top"}
        axes.annotate(f"{devices}", (duration, price), **where)  # type: ignore[arg-type]
    axes.set_xscale("log")
    axes.set_xlim(13, 0.02)
    axes.set_xticks([10, 1, 0.1], ["10 days", "1 day", "0.1 days"])
    axes.minorticks_off()
    axes.set_ylim(0, 1.15 * max(prices))
    axes.yaxis.set_major_formatter("${x:,.0f}")
    axes.set_xlabel("duration, shorter to the right; numbers are GPUs")
    axes.grid(color=INK["border"], linewidth=0.6)
    listed = "; ".join(
        f"{devices} of them {duration:.2g} days and ${price:,.0f}"
        for devices, duration, price in zip(DEVICES, durations, prices, strict=True)
    )
    return Drawing(
        figure, f"Price over duration of one run by the number of GPUs, nearly flat and then rising steeply: {listed}."
    )
