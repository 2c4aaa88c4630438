"""The iron law of one run, to move: GPT-2 XL on as many tokens as a published run of $672 took."""

import math

from explorable.figures.drawing import Drawing
from explorable.figures.moving import Control, Reading
from explorable.figures.sketch import Sketch
from ironlaw import accelerator, flops_per_token, model
from ironlaw.economics import device_hours, rent

STEPS, TOKENS_PER_STEP, SEQUENCE = 32_000, 1_048_576, 1_024
"""Of the run in llm.c, discussion 677 (2024-07): https://github.com/karpathy/llm.c/discussions/677."""
BUDGET, WEEKEND = 700, 60
"""Dollars; hours from Friday evening to Monday morning."""
CHIPS = {"a100-80": "A100", "h100-sxm": "H100", "b200": "B200"}
PAID = {"a100-80": 14 / 8, "h100-sxm": 28 / 8}
"""Dollars an hour for a card in 2024: a node's price over its eight cards, from llm.c's `scripts/run_gpt2_774M.sh` and
`scripts/run_gpt2_1558M.sh`. Nobody rented a B200 that year."""
DEVICES = (1, 2, 4, 8, 16, 32, 64)
SHARES = tuple(range(5, 71, 5))
LEFT, RIGHT = 14, 426
TIMES = {1: "1 hour", 24: "1 day", 30 * 24: "1 month", 365 * 24: "1 year"}
PRICES = {100: "$100", 1000: "$1,000", 10_000: "$10,000"}

CONTROLS = (
    Control("gpu", "Peak of each", tuple(CHIPS), tuple(CHIPS.values()), "h100-sxm", buttons=True),
    Control("devices", "Devices", DEVICES, tuple(map(str, DEVICES)), 8),
    Control("share", "Share of the peak", SHARES, tuple(f"{share} %" for share in SHARES), 40),
    Control("price", "Price of", ("2024", "today"), ("2024", "today"), "2024", buttons=True),
)
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def draw(gpu: str, devices: int, share: int, price: str) -> Drawing:
    """The law with its numbers, and where the run stands between a weekend and a year, $100 and $20,000."""
    chip = accelerator(gpu)
    assert chip.rent is not None
    hourly = PAID.get(gpu) if price == "2024" else chip.rent.dollars
    operations = STEPS * TOKENS_PER_STEP * flops_per_token(model("gpt2-xl"), SEQUENCE)
    total = device_hours(operations, chip.peak("bf16"), share / 100)
    hours, dollars = total / devices, rent(total, hourly) if hourly else None
    sheet = Sketch(172)
    power = math.floor(math.log10(operations))
    sheet.text(LEFT, 14, f"{operations / 10**power:.2f} × 10{str(power).translate(SUPERSCRIPT)} operations", size=13.5)
    sheet.line([(LEFT, 26), (LEFT + 232, 26)], "fg", 1.4)
    sheet.text(LEFT, 38, f"{devices} × {chip.peak('bf16') / 1e12:,.0f} TFLOP/s × {share} %", size=13.5)
    sheet.text(LEFT + 242, 26, f"= {spoken(hours)}", size=13.5, bold=True)
    scale(sheet, 84, hours, (0.4, 9000), TIMES, WEEKEND, "a weekend")
    scale(sheet, 146, dollars, (60, 20_000), PRICES, BUDGET, f"${BUDGET}")
    value, unit = ("hours", hours) if hours < 100 else ("days", hours / 24)
    within = f"{'within' if hours <= WEEKEND else 'more than'} a weekend"
    if dollars is None:
        cost, money = "?", "no B200 for rent in 2024"
    else:
        cost = f"${dollars:,.0f}"
        within_budget = f"{'within' if dollars <= BUDGET else 'over'} ${BUDGET}"
        money = f"{within_budget} for the steps alone, at ${hourly:.2f} an hour for a card"
    return Drawing(
        sheet,
        f"{operations / 10**power:.2f} times 10 to the power of {power} operations "
        f"on {devices} {CHIPS[gpu]} of {chip.peak('bf16') / 1e12:,.0f} TFLOP/s each, at "
        f"{share} % of that: {spoken(hours)}, {within}; {cost}, {money}.",
        (Reading("It takes", digits(unit), value), Reading("It costs", cost, money)),
    )


def digits(number: float) -> str:
    """Three digits."""
    return f"{number:.3g}" if number < 100 else f"{number:,.0f}"


def spoken(hours: float) -> str:
    """Hours or days."""
    return f"{digits(hours)} hours" if hours < 100 else f"{digits(hours / 24)} days"


def scale(
    sheet: Sketch,
    y: float,
    value: float | None,
    ends: tuple[float, float],
    ticks: dict[int, str],
    goal: float,
    words: str,
) -> None:
    """A logarithmic scale with the goal shaded, and the run as a dot where its value is known."""
    low, high = ends

    def at(number: float) -> float:
        return LEFT + (RIGHT - LEFT) * math.log(number / low) / math.log(high / low)

    sheet.rect(LEFT, y - 7, at(goal) - LEFT, 14, fill="compute", faint=0.16)
    sheet.line([(LEFT, y), (RIGHT, y)], "control", 1.2)
    for tick, name in ticks.items():
        sheet.line([(at(tick), y - 4), (at(tick), y + 4)], "control", 1)
        anchor = "end" if at(tick) > RIGHT - 20 else "middle"
        sheet.text(at(tick), y + 17, name, ink="muted", anchor=anchor, size=12.8)
    sheet.line([(at(goal), y - 12), (at(goal), y + 9)], "compute", 2)
    sheet.text(at(goal), y - 19, words, ink="compute", anchor="middle", size=12.8)
    if value is not None:
        sheet.dot(at(value), y, 7, fill="compute" if value <= goal else "limit", line="surface", thick=2)
