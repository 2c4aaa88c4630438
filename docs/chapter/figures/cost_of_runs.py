"""What our run paid, and what published training runs would cost at the same rent, by the iron law."""

from explorable.figures.drawing import Drawing, canvas
from explorable.figures.sketch import percent
from explorable.shared.svg import INK
from ironlaw import accelerator, model
from ironlaw.economics import device_hours, rent
from ironlaw.graph import total_flops

UTILIZATION = 0.4
"""The share of the peak that the figure grants every run but ours."""
USD_PER_HOUR, HOURS = 28 / 8, 24
"""What our run paid for one of its eight cards, and its hours: llm.c's `scripts/run_gpt2_1558M.sh`, July 2024."""
OURS = "GPT-2 XL, our run"
RUNS = (
    ("GPT-3 175B", "gpt3-175b", 300e9),
    ("Llama 2 70B", "llama2-70b", 2e12),
    ("Llama 3.1 405B", "llama3.1-405b", 15.6e12),
)
"""Name, model, tokens. The tokens are published: Brown et al. 2020, Touvron et al. 2023, Grattafiori et al. 2024."""


def draw() -> Drawing:
    """Dollars on a logarithmic axis."""
    chip = accelerator("h100-sxm")
    costs = {OURS: rent(8 * HOURS, USD_PER_HOUR)} | {
        name: rent(
            device_hours(total_flops(model(key).parameters, tokens), chip.peak("bf16"), UTILIZATION), USD_PER_HOUR
        )
        for name, key, tokens in RUNS
    }
    figure, axes = canvas(2.1)
    axes.plot(list(costs.values()), list(costs), color=INK["compute"], marker="o", markersize=8, linestyle="none")
    axes.set_xscale("log")
    axes.set_xlim(1e2, 2e10)
    ticks = {1e3: "1 thousand", 1e6: "1 million", 1e9: "1 billion"}
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()
    axes.set_xlabel(f"dollars, H100 rented at ${USD_PER_HOUR:.2f} an hour")
    for place, cost in enumerate(costs.values()):
        axes.text(cost * 2, place, short(cost), va="center", parse_math=False)
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    axes.margins(y=0.2)
    axes.invert_yaxis()
    listed = ", ".join(f"{name} {short(cost)}" for name, cost in costs.items())
    return Drawing(
        figure,
        f"Cost of H100s rented at ${USD_PER_HOUR:.2f} an hour, on a logarithmic axis; all but our run at "
        f"{percent(UTILIZATION)} of their peak: {listed}.",
    )


def short(cost: float) -> str:
    """Dollars to two digits; small sums, which somebody paid, whole."""
    if cost < 1000:
        return f"${cost:,.0f}"
    scale, word = (1e6, " million") if cost >= 1e6 else (1, "")
    digits = cost / scale
    rounded = round(digits, -len(str(int(digits))) + 2)
    return f"${rounded:,.{1 if rounded < 10 else 0}f}{word}"
