"""What checkpointing keeps and what it costs, by the length of a segment: GPT-2 XL on an H100."""

from functools import cache
from math import ceil, floor

from explorable.figures.drawing import Drawing
from explorable.figures.moving import Control, Drag, Reading
from explorable.figures.sketch import Sketch
from ironlaw import GB, model, step_time, training_memory

LAYERS = model("gpt2-xl").layers
LENGTHS = (0, *(every for every in range(1, LAYERS + 1) if LAYERS % every == 0))
"""Zero stands for no checkpoints: all is kept."""
BATCH, MODE, GPU = 8, "amp-bf16", "h100-sxm"
LEFT, RIGHT, TOP, BOTTOM = 48, 430, 90, 226
MOST, EVERY_MS = 60, 20
"""GB at the highest line, and milliseconds between two ticks of the time."""

CONTROLS = (Control("every", "Blocks in a segment", LENGTHS, ("no checkpoints", *map(str, LENGTHS[1:])), 4),)
DRAG = Drag("every", 8, RIGHT)


@cache
def point(every: int) -> tuple[float, float]:
    """Seconds of a step, and GB at its fullest moment."""
    words = {"precision": MODE, "checkpointing": f"every:{every}" if every else "none", "update": "fused"}
    memory = training_memory("gpt2-xl", gpu=GPU, batch=BATCH, **words).device_total
    return float(step_time("gpt2-xl", GPU, BATCH, **words).total), memory / GB


def draw(every: int) -> Drawing:
    """The blocks with their checkpoints, and memory against time for every length."""
    sheet = Sketch(272)
    _blocks(sheet, every)
    points = {length: point(length) for length in LENGTHS}
    times = [1000 * seconds for seconds, _ in points.values()]
    first, last = EVERY_MS * floor(min(times) / EVERY_MS), EVERY_MS * ceil(max(times) / EVERY_MS)
    fullest = max(y for _, y in points.values())

    def at(place: tuple[float, float]) -> tuple[float, float]:
        x = LEFT + 16 + (RIGHT - LEFT - 32) * (1000 * place[0] - first) / (last - first)
        return x, BOTTOM - (BOTTOM - TOP - 8) * place[1] / fullest

    for share in (0, 20, 40, MOST):
        y = at((0, share))[1]
        sheet.line([(LEFT, y), (RIGHT, y)], "border", 1)
        sheet.text(LEFT - 8, y, f"{share} GB" if share == MOST else f"{share}", anchor="end", ink="muted", size=12.8)
    for tick in range(first, last + 1, EVERY_MS):
        x = at((tick / 1000, 0))[0]
        sheet.line([(x, BOTTOM), (x, BOTTOM + 5)], "muted", 1)
        sheet.text(x, BOTTOM + 15, f"{tick}", anchor="middle", ink="muted", size=12.8)
    # The axis of time does not begin at zero.
    for x in (LEFT + 3, LEFT + 8):
        sheet.line([(x - 2, BOTTOM + 5), (x + 2, BOTTOM - 5)], "muted", 1.2)
    for length, place in points.items():
        if length != every:
            sheet.dot(*at(place), 4.5, fill="surface", line="memory", thick=1.6)
    here = at(points[every])
    sheet.line([(here[0], BOTTOM), here], "memory", 1.2, dashed=True)
    sheet.dot(*here, 8, fill="memory", line="bg", thick=2)
    seconds, size = points[every]
    least = min(LENGTHS, key=lambda length: points[length][1])
    how = f"a checkpoint for every {every}" if every else "all kept"
    sheet.text(
        (LEFT + RIGHT) / 2, BOTTOM + 34, "ms a step; a dot for each length", anchor="middle", ink="muted", size=12.8
    )
    return Drawing(
        sheet,
        f"{LAYERS} blocks of GPT-2 XL, {how}: {size:.1f} GB at the fullest moment and {1000 * seconds:.0f} ms a step. "
        f"The least memory, {points[least][1]:.1f} GB, comes with segments of {least}; without checkpoints it is "
        f"{points[0][1]:.1f} GB and {1000 * points[0][0]:.0f} ms.",
        (Reading("Fullest moment", f"{size:.1f}", "GB"), Reading("A step takes", f"{1000 * seconds:.0f}", "ms")),
    )


def _blocks(sheet: Sketch, every: int) -> None:
    """A row of blocks: filled where a tensor is kept; the last segment stands there again, as backward needs it."""
    wide = (RIGHT - 8) / LAYERS
    for block in range(LAYERS):
        x = 8 + block * wide
        again = every and block >= LAYERS - every
        kept = not every or block % every == 0
        sheet.rect(x, 8, wide - 1.6, 26, fill="bg", line="border", thick=1)
        if again:
            sheet.rect(x, 8, wide - 1.6, 26, fill="compute", faint=0.45)
        if kept:
            sheet.rect(x, 8, wide - 1.6, 26, fill="memory", faint=0.9)
    words = ("kept", "computed again, then freed") if every else ("kept: everything", "")
    sheet.rect(8, 43, 10, 12, fill="memory", faint=0.9)
    sheet.text(24, 49, words[0], size=12.8, ink="muted")
    if words[1]:
        sheet.rect(84, 43, 10, 12, fill="compute", faint=0.45)
        sheet.text(100, 49, words[1], size=12.8, ink="muted")
