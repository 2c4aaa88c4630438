"""How the loss of a small GPT-2 fell in llm.c, and three steps at which its gradient jumped."""

from explorable.figures.drawing import Drawing
from explorable.figures.sketch import Sketch

VALIDATION = (
    (0, 11.0092), (250, 6.1710), (500, 5.3743), (750, 4.7097), (1000, 4.3170), (1500, 4.0060), (2000, 3.8585),
    (2500, 3.7652), (3000, 3.6973), (3500, 3.6543), (4000, 3.6176), (4500, 3.5797), (5000, 3.5535), (5500, 3.5298),
    (6000, 3.5069), (6500, 3.4912), (7000, 3.4726), (7500, 3.4566), (8000, 3.4431), (8500, 3.4289), (9000, 3.4159),
    (9500, 3.4026), (10000, 3.3924), (10500, 3.3809), (11000, 3.3706), (11500, 3.3615), (12000, 3.3509),
    (12500, 3.3408), (13000, 3.3305), (13500, 3.3226), (14000, 3.3149), (14500, 3.3073), (15000, 3.3003),
    (15500, 3.2939), (16000, 3.2882), (16500, 3.2841), (17000, 3.2803), (17500, 3.2770), (18000, 3.2746),
    (18500, 3.2732), (19000, 3.2724), (19500, 3.2722), (19560, 3.2722),
)  # fmt: skip
"""Step and validation loss of GPT-2 124M, as the log has them: `records/track_1_short/2024-10-13_llmc/main.log` of
https://github.com/KellerJordan/modded-nanogpt, a run of llm.c on eight H100s by Keller Jordan, October 2024. The
log has a value every 250 steps; after step 1,000 every second one is here."""
JUMPS = ((7435, 3.7819, 1.44), (9025, 3.4915, 2.02), (9954, 3.3632, 0.95))
"""Step, loss of its batch and norm of its gradient: all steps after 2,000 whose norm exceeds 0.9 in the same log."""
USUAL_NORM = 0.27
"""Median of the norm after step 2,000 in the same log."""
LEFT, RIGHT, TOP, BOTTOM = 34, 408, 34, 236
LAST, LOW, HIGH = 20_000, 3.0, 11.5
SIZE = 13
"""Letters that stay readable on a phone, where the sheet is three quarters as wide."""


def draw() -> Drawing:
    """The loss against steps, on a plain axis, with the jumps above it."""
    sheet = Sketch(284)

    def at(step: float, loss: float) -> tuple[float, float]:
        return LEFT + (RIGHT - LEFT) * step / LAST, BOTTOM - (BOTTOM - TOP) * (loss - LOW) / (HIGH - LOW)

    for height in range(3, 12, 2):
        sheet.line([at(0, height), at(LAST, height)], "border", 1)
        sheet.text(LEFT - 8, at(0, height)[1], str(height), anchor="end", size=SIZE, ink="muted")
    for step in range(0, LAST + 1, 5000):
        sheet.text(at(step, 0)[0], BOTTOM + 18, f"{step:,}", anchor="middle", size=SIZE, ink="muted")
    sheet.text(LEFT, 10, "loss on text held back", size=SIZE, ink="muted")
    sheet.text(RIGHT, BOTTOM + 38, "step", anchor="end", size=SIZE, ink="muted")
    sheet.line([at(step, loss) for step, loss in VALIDATION], "compute", 2.2)
    sheet.text(at(8400, 0)[0], at(0, 7.6)[1], "gradient jumps", anchor="middle", size=SIZE, ink="limit")
    for place, (step, loss, norm) in enumerate(JUMPS):
        x, y = at(step, loss)
        top = at(0, 6.2 if place == 1 else 5.2)[1]
        sheet.line([(x, top + 9), (x, y - 6)], "limit", 1.2, dashed=True)
        sheet.dot(x, y, 4.5, fill="limit", line="bg", thick=1.5)
        words, away = f"{norm / USUAL_NORM:.0f}×", (-8, 0, 10)[place]
        sheet.text(x + away, top, words, anchor="middle", size=SIZE, ink="limit", bold=True, over=True)
    (_, first), (last, final) = VALIDATION[0], VALIDATION[-1]
    thousand = dict(VALIDATION)[1000]
    sheet.text(at(500, 0)[0], at(0, first)[1] + 18, f"{first:.1f} at the start", size=SIZE, bold=True, over=True)
    x, y = at(1000, thousand)
    sheet.dot(x, y, 3.5, fill="compute")
    sheet.text(x + 8, y - 9, f"{thousand:.1f}", size=SIZE, bold=True, over=True)
    sheet.text(RIGHT, at(0, final + 0.75)[1], f"{final:.2f} at the end", anchor="end", size=SIZE, bold=True, over=True)
    jumps = ", ".join(f"{norm / USUAL_NORM:.0f} times the usual at step {step:,}" for step, _, norm in JUMPS)
    return Drawing(
        sheet,
        f"Validation loss against steps. It falls from {first:.1f} to {thousand:.1f} in the first thousand steps, "
        f"and to {final:.2f} by step {last:,}. Three points mark steps at which the gradient jumped: {jumps}. "
        "The curve does not show them.",
    )
