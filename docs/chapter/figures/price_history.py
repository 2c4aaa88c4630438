"""What training a GPT-2 cost, from 2019 on: the model itself, and models that reach its score."""

import math

from explorable.figures.drawing import Drawing
from explorable.figures.sketch import Sketch

PAID = (
    (2019.1, 32 * 168 * 8.0, "32 TPU v3 for a week", True),
    (2024.53, 8 * 24 * 3.5, "llm.c, the same model", True),
    (2026.08, 8 * 3.04 * 3.0, "nanochat, the same score", False),
)
"""Year, devices x hours x dollars for one, who, whether it is the model. The table beside it has the sources."""
LEFT, RIGHT, TOP, BOTTOM = 82, 424, 30, 234
FIRST, LAST, LOW, HIGH = 2018.5, 2026.9, 12.0, 100_000.0


def draw() -> Drawing:
    """Dots on a logarithmic axis of dollars; an open one is another model."""
    sheet = Sketch(290)

    def at(year: float, dollars: float) -> tuple[float, float]:
        x = LEFT + (RIGHT - LEFT) * (year - FIRST) / (LAST - FIRST)
        return x, BOTTOM - (BOTTOM - TOP) * math.log(dollars / LOW) / math.log(HIGH / LOW)

    for dollars in (100.0, 1000.0, 10_000.0, 100_000.0):
        y = at(FIRST, dollars)[1]
        sheet.line([(LEFT, y), (RIGHT, y)], "border", 1)
        sheet.text(LEFT - 8, y, f"${dollars:,.0f}", anchor="end", size=13, ink="muted")
    for year in range(2019, 2027):
        sheet.text(at(year, LOW)[0], BOTTOM + 18, f"{year}" if year % 2 else "", anchor="middle", size=13, ink="muted")
    places = [at(year, dollars) for year, dollars, _, _ in PAID]
    sheet.line(places, "control", 1.4, dashed=True)
    for (_, dollars, who, same), (x, y) in zip(PAID, places, strict=True):
        fill, line = ("data", "bg") if same else ("bg", "data")
        sheet.dot(x, y, 7, fill=fill, line=line, thick=2.4)
        side = "start" if x < 200 else "end"
        # Between two lines of the grid, beside the falling line: above it at the left, below it at the right.
        shift, down, across, below = (12, -9, 60, 0) if side == "start" else (-12, 8, 0, 18)
        sheet.text(x + shift, y + down, rounded(dollars), bold=True, anchor=side, size=13, over=True)
        sheet.text(x + shift + across, y + down + below, who, size=13, ink="muted", anchor=side, over=True)
    sheet.dot(LEFT + 8, BOTTOM + 44, 5, fill="bg", line="data", thick=2)
    sheet.text(LEFT + 18, BOTTOM + 44, "another model of GPT-2's score", size=13, ink="muted")
    listed = "; ".join(f"{who}: {rounded(dollars)}" for _, dollars, who, _ in PAID)
    falls = PAID[0][1] / PAID[-1][1]
    return Drawing(sheet, f"Dollars over years on a logarithmic axis, falling by a factor of {falls:.0f}: {listed}.")


def rounded(dollars: float) -> str:
    """Dollars to three digits, as the sources give them."""
    return f"${float(f'{dollars:.3g}'):,.0f}"
