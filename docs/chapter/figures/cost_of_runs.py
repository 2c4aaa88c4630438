"""What published training runs would cost to rent today, by the iron law."""

from engine import accelerator, model
from engine.economics import device_hours, rent
from engine.graph import total_flops
from plugins.book.drawing import Drawing, canvas
from plugins.shared.svg import INK

UTILIZATION = 0.4
"""The share of the peak that the figure grants every run."""
RUNS = (
    ("GPT-2 XL, our run", "gpt2-xl", 32_000 * 1024 * 1024),
    ("GPT-3 175B", "gpt3-175b", 300e9),
    ("Llama 2 70B", "llama2-70b", 2e12),
    ("Llama 3.1 405B", "llama3.1-405b", 15.6e12),
)
"""Name, model, tokens. The tokens are published: Brown et al. 2020, Touvron et al. 2023, Grattafiori et al. 2024."""


def draw() -> Drawing:
    """Dollars on a logarithmic axis."""
    chip = accelerator("h100-sxm")
    assert chip.rent is not None
    costs = {
        name: rent(
            device_hours(total_flops(model(key).parameters, tokens), chip.peak("bf16"), UTILIZATION), chip.rent.dollars
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
    axes.set_xlabel(f"dollars, H100 rented at ${chip.rent.dollars:.2f} per hour")
    for place, cost in enumerate(costs.values()):
        axes.text(cost * 2, place, short(cost), va="center", parse_math=False)
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    axes.margins(y=0.2)
    axes.invert_yaxis()
    listed = ", ".join(f"{name} {short(cost)}" for name, cost in costs.items())
    return Drawing(
        figure, f"Cost of renting H100s at {UTILIZATION:.0%} of their peak, on a logarithmic axis: {listed}."
    )


def short(cost: float) -> str:
    """Dollars to two digits."""
    scale, word = (1e6, " million") if cost >= 1e6 else (1, "")
    digits = cost / scale
    rounded = round(digits, -len(str(int(digits))) + 2)
    return f"${rounded:,.{1 if rounded < 10 else 0}f}{word}"
