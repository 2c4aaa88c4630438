"""What is allocated from moment to moment of a step of GPT-2 XL, for a small and a larger batch."""

from functools import cache

from explorable.figures.drawing import Drawing
from explorable.figures.moving import Control, Drag, Reading
from explorable.figures.sketch import Sketch
from ironlaw import GB, training_memory
from ironlaw.memory import MemoryLedger

BATCHES = (1, 2, 4)
LEFT, RIGHT, TOP, BOTTOM = 40, 428, 34, 196


@cache
def ledger(batch: int) -> MemoryLedger:
    """The engine's account of the step."""
    return training_memory("gpt2-xl", optimizer="adamw", precision="fp32", batch=batch)


NAMES = tuple(moment.name for moment in ledger(BATCHES[0]).moments)
CONTROLS = (
    Control("batch", "Sequences", BATCHES, tuple(map(str, BATCHES)), 4, buttons=True),
    Control("moment", "Moment", range(len(NAMES)), NAMES, NAMES.index(ledger(4).peak.name)),
)
DRAG = Drag("moment", LEFT, RIGHT)


def draw(batch: int, moment: int) -> Drawing:
    """A hill over the moments of the step; the reader's moment as an upright line, the fullest one named."""
    step = ledger(batch)
    sizes = [one.bytes / GB for one in step.moments]
    fullest = max(one.bytes for one in ledger(max(BATCHES)).moments) / GB
    sheet = Sketch(248)

    def at(place: int, size: float) -> tuple[float, float]:
        return LEFT + (RIGHT - LEFT) * place / (len(NAMES) - 1), BOTTOM - (BOTTOM - TOP) * size / fullest

    for size in range(0, int(fullest) + 1, 20):
        sheet.line([(LEFT, at(0, size)[1]), (RIGHT, at(0, size)[1])], "border", 1)
        sheet.text(LEFT - 8, at(0, size)[1], f"{size}", anchor="end", size=12.8, ink="muted")
    points = [at(place, size) for place, size in enumerate(sizes)]
    sheet.area([(LEFT, BOTTOM), *points, (RIGHT, BOTTOM)], "memory", faint=0.3)
    sheet.line(points, "memory", 2.4)
    peak = sizes.index(max(sizes))
    x, y = points[peak]
    sheet.text(min(max(x, 90), 350), y - 16, f"peak, {sizes[peak]:.1f} GB", anchor="middle", ink="limit", bold=True)
    sheet.dot(x, y, 5, fill="bg", line="limit", thick=2.4)
    x, y = points[moment]
    sheet.line([(x, y), (x, BOTTOM)], "fg", 1.6)
    sheet.dot(x, y, 7, fill="fg", line="bg", thick=2)
    sheet.text(8, TOP - 22, "GB", size=12.8, ink="muted")
    for place, anchor in ((0, "start"), (len(NAMES) - 1, "end")):
        sheet.text(at(place, 0)[0], BOTTOM + 16, NAMES[place], anchor=anchor, size=12.8, ink="muted")
    sheet.text((LEFT + RIGHT) / 2, BOTTOM + 36, "moments of a step", anchor="middle", size=12.8, ink="muted")
    # The reader's moment is named inside the hill, where no other name can be taken for its second line.
    side, away = ("start", 9) if x < (LEFT + RIGHT) / 2 else ("end", -9)
    sheet.text(x + away, BOTTOM - 18, NAMES[moment], anchor=side, bold=True)
    listed = "; ".join(f"{name} {size:.1f}" for name, size in zip(NAMES, sizes, strict=True))
    return Drawing(
        sheet,
        f"GB allocated at the moments of a step of GPT-2 XL with a batch of {batch}: {listed}. The peak is at "
        f"'{step.peak.name}'; the line stands at '{NAMES[moment]}'.",
        (
            Reading("Now", f"{sizes[moment]:.1f}", "GB"),
            Reading("Fullest moment", f"{sizes[peak]:.1f}", f"GB, {step.peak.name}"),
        ),
    )
