"""A loss that explodes, update by update, for three reasons, and what each of three cures does about it."""

from math import isinf, log10

from explorable.figures.drawing import Drawing
from explorable.figures.moving import Control, Drag, Reading
from explorable.figures.sketch import Sketch
from ironlaw.training.noisy_quadratic import Course, Guard, Outlier, course

UPDATES, BATCH, STRANGE_AT = 14, 32, 5
RATE, TOO_HIGH = 0.5, 2.6
CLIP = 3.0
CAUSES = {
    "overflow": "a batch beyond FP16",
    "outlier": "a strange batch, BF16",
    "rate": "too high a rate",
}
MARKS = {"overflow": "the batch beyond FP16", "outlier": "the strange batch"}
"""What stands beside the update at which it happens, in the words of the cause."""
CURES = {"none": "none", "clip": "clipping", "scale": "dynamic scale", "rate": "half the rate"}
HELPS = {"overflow": "scale", "outlier": "clip", "rate": "rate"}
"""The one cure of each."""
PRICES = {
    "none": "Nothing stands between the gradient and the weights.",
    "clip": "Clipping shortens every long step, also a good one.",
    "scale": "The scale leaves out the update that overflows.",
    "rate": "At half the rate every update does half as much.",
}
LEFT, RIGHT, TOP, BOTTOM = 46, 424, 14, 176
LEAST, MOST = -2.0, 3.0

CONTROLS = (
    Control("cause", "Cause", list(CAUSES), list(CAUSES.values()), "overflow", buttons=True),
    Control("cure", "Cure", list(CURES), list(CURES.values()), "none", buttons=True),
    Control("step", "Updates made", range(UPDATES + 1), [str(step) for step in range(UPDATES + 1)], UPDATES),
)
DRAG = Drag("step", LEFT, RIGHT)


def run(cause: str, cure: str) -> Course:
    """The noisy quadratic model of training, with its usual seed."""
    guard = Guard(cause == "overflow", "dynamic" if cure == "scale" else "static", CLIP if cure == "clip" else None)
    factor = {"overflow": 1e9, "outlier": 5e4, "rate": 1.0}[cause]
    rate = (TOO_HIGH if cause == "rate" else RATE) / (2 if cure == "rate" else 1)
    return course(UPDATES, BATCH, rate, guard=guard, outliers=(Outlier(factor, (STRANGE_AT + 0.5) / UPDATES),))


def healthy(made: Course) -> bool:
    """Whether the run goes on and has come down."""
    return made.exploded_at is None and made.final < 0.5


def at(step: int, loss: float) -> tuple[float, float]:
    """Where a loss stands after so many updates."""
    high = (min(MOST, max(LEAST, log10(loss))) - LEAST) / (MOST - LEAST)
    return LEFT + (RIGHT - LEFT) * step / UPDATES, BOTTOM - (BOTTOM - TOP) * high


def draw(cause: str, cure: str, step: int) -> Drawing:
    """The loss so far on a logarithmic axis; a cross where it ends."""
    made = run(cause, cure)
    assert all(healthy(run(cause, one)) == (one == HELPS[cause]) for one in CURES), "each cause has its one cure"
    losses = [1.0, *made.losses][: step + 1]
    seen = [loss for loss in losses if not isinf(loss)]
    ended = len(seen) < len(losses)
    sheet = Sketch(236)
    for power in (-2, 0, 2):
        y = at(0, 10.0**power)[1]
        sheet.line([(LEFT, y), (RIGHT, y)], "border", 1)
        sheet.text(LEFT - 6, y, f"{10.0**power:g}", anchor="end", size=12.8, ink="muted")
    if cause in MARKS:
        x = at(STRANGE_AT + 1, 1)[0]
        sheet.line([(x, TOP), (x, BOTTOM)], "muted", 1, dashed=True)
        sheet.text(x + 5, BOTTOM - 9, MARKS[cause], size=12.8, ink="muted")
    points = [at(place, loss) for place, loss in enumerate(seen)]
    if len(points) > 1:
        sheet.line(points, "compute", 2)
    sheet.dot(*points[-1], 4, fill="compute")
    if ended:
        x, y = at(len(seen), 10**MOST)
        sheet.line([(x - 6, y - 6), (x + 6, y + 6)], "limit", 3)
        sheet.line([(x - 6, y + 6), (x + 6, y - 6)], "limit", 3)
        sheet.text(x + 12, y, "NaN" if made.reason == "overflow" else "lost", ink="limit", bold=True, size=13)
    sheet.text((LEFT + RIGHT) / 2, 196, "updates made", anchor="middle", size=12.8, ink="muted")
    sheet.text((LEFT + RIGHT) / 2, 222, PRICES[cure], anchor="middle", size=12.8)
    state = "NaN" if ended and made.reason == "overflow" else "lost" if ended else f"{seen[-1]:.2g}"
    skipped = made.skipped if step > STRANGE_AT else 0
    words = f"Cause: {CAUSES[cause]}. Cure: {CURES[cure]}. After {step} of {UPDATES} updates the loss is {state}."
    return Drawing(
        sheet,
        f"{words} {PRICES[cure]}".strip(),
        (Reading("Loss", state), Reading("Updates left out", str(skipped))),
    )
