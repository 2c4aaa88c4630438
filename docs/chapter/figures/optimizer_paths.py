"""How optimizers walk down a narrow valley, at any learning rate and any momentum."""

import math

from explorable.figures.drawing import Drawing
from explorable.figures.moving import Control, Reading
from explorable.figures.sketch import Sketch
from ironlaw.training import descend

STEEP, START, STEPS = 100.0, (-1.0, 0.22), 50
RULES = {"momentum": ("SGD", "data"), "rmsprop": ("RMSprop", "optimizer"), "adam": ("Adam", "compute")}
"""Title, ink. Without momentum the first is plain gradient descent."""
RATES = (0.001, 0.004, 0.008, 0.018, 0.021, 0.05, 0.12)
MOMENTA = (0.0, 0.5, 0.9, 0.95, 0.99)
HIGH, MIDDLE, WIDE, TALL = 190, 92, 150, 300
"""Of the sheet; where the valley's floor is; units of the sheet for one unit along, and across."""

CONTROLS = (
    Control("rule", "Optimizer", tuple(RULES), tuple(title for title, _ in RULES.values()), "momentum", buttons=True),
    Control("rate", "Learning rate", RATES, tuple(f"{rate:g}" for rate in RATES), 0.008),
    Control("momentum", "Momentum", MOMENTA, ("none", *(f"{share:g}" for share in MOMENTA[1:])), 0.9),
)


def draw(rule: str, rate: float, momentum: float) -> Drawing:
    """Lines of equal loss, the path as dots, and how far from the lowest point it ends."""
    title, ink = RULES[rule]
    path = descend(rule, rate, lambda w: (w[0], STEEP * w[1]), START, STEPS, momentum)
    sheet = Sketch(HIGH)

    def place(point: tuple[float, ...]) -> tuple[float, float]:
        return 250 + WIDE * point[0], MIDDLE - TALL * point[1]

    for loss in (0.02, 0.1, 0.25, 0.5, 0.9, 1.6, 2.6):
        wide, high = math.sqrt(2 * loss) * WIDE, math.sqrt(2 * loss / STEEP) * TALL
        turns = [math.tau * place / 180 for place in range(181)]
        ring = [(250 + wide * math.cos(turn), MIDDLE + high * math.sin(turn)) for turn in turns]
        for piece in inside(ring):
            sheet.line(piece, "control", 0.8)
    seen = []
    for point in path:
        x, y = place(point)
        if not (4 <= x <= 436 and 4 <= y <= HIGH - 20):
            break
        seen.append((x, y))
    sheet.line(seen, ink, 1.6)
    for x, y in seen:
        sheet.dot(x, y, 1.8, fill=ink)
    sheet.dot(*place((0, 0)), 5, fill="limit", line="bg", thick=2)
    x, y = place(START)
    sheet.text(x - 9, y, "start", size=12.8, anchor="end", over=True)
    if len(seen) == len(path):
        for x, y in (seen[-1], (212, HIGH - 8)):
            sheet.dot(x, y, 4, fill="bg", line=ink, thick=2)
        sheet.text(222, HIGH - 8, f"after {STEPS} steps", size=12.8, ink="muted")
    end = math.hypot(*path[-1])
    lost = len(seen) < len(path) and end > 1
    sheet.text(4, HIGH - 8, "→ the flat direction", size=12.8, ink="muted")
    sheet.text(436, HIGH - 8, "left the picture" if len(seen) < len(path) else "", size=12.8, ink="limit", anchor="end")
    kept = f"momentum {momentum:g}" if momentum else "no momentum"
    words = f"{end:.3f}" if end < 100 else "far away" if end < 1e30 else "infinity"
    return Drawing(
        sheet,
        f"The path of {title} with learning rate {rate:g} and {kept} over the ellipses of a valley that is "
        f"{STEEP:.0f} times steeper across than along. "
        f"After {STEPS} steps its distance from the lowest point is {words}" + (": it diverges." if lost else "."),
        (
            Reading(f"Distance after {STEPS} steps", words, f"of {math.hypot(*START):.3f} at the start"),
            Reading("This run", "diverges" if lost else "converges" if end < 0.05 else "is on its way"),
        ),
    )


def inside(points: list[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """The pieces of a line that lie on the sheet, above its lowest row."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for x, y in points:
        if 2 <= x <= 438 and 2 <= y <= HIGH - 20:
            pieces[-1].append((x, y))
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if len(piece) > 1]
