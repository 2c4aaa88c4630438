"""What checkpointing keeps and what it costs, by the length of a segment: GPT-2 XL on an H100."""

from functools import cache

from explorable.figures.drawing import Drawing
from explorable.figures.moving import Control, Drag, Reading
from explorable.figures.sketch import Sketch
from ironlaw import GB, model, step_time, training_memory

LAYERS = model("gpt2-xl").layers
LENGTHS = (0, *(every for every in range(1, LAYERS + 1) if LAYERS % every == 0))
"""Zero stands for no checkpoints: all is kept."""
BATCH, MODE, GPU = 8, "amp-bf16", "h100-sxm"
LEFT, RIGHT, TOP, BOTTOM = 48, 430, 90, 226

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
    slowest, fastest = max(x for x, _ in points.values()), min(x for x, _ in points.values())
    fullest = max(y for _, y in points.values())

    def at(place: tuple[float, float]) -> tuple[float, float]:
        x = LEFT + 16 + (RIGHT - LEFT - 40) * (place[0] - fastest) / (slowest - fastest)
        return x, BOTTOM - (BOTTOM - TOP - 8) * place[1] / fullest

    for share in (0, 20, 40, 60):
        y = at((fastest, share))[1]
        sheet.line([(LEFT, y), (RIGHT, y)], "border", 1)
        sheet.text(LEFT - 8, y, f"{share}", anchor="end", ink="muted", size=12.8)
    sheet.text(LEFT - 40, BOTTOM + 14, "GB", ink="muted", size=12.8)
    for name, value in (("every", fastest), ("least", slowest)):
        anchor = "start" if name == "every" else "end"
        sheet.text(
            at((value, 0))[0], BOTTOM + 14, f"{1000 * value:.0f} ms a step", anchor=anchor, ink="muted", size=12.8
        )
    for length, place in points.items():
        if length != every:
            sheet.dot(*at(place), 4.5, fill="surface", line="memory", thick=1.6)
    here = at(points[every])
    sheet.line([(here[0], BOTTOM), here], "memory", 1.2, dashed=True)
    sheet.dot(*here, 8, fill="memory", line="bg", thick=2)
    seconds, size = points[every]
    least = min(LENGTHS, key=lambda length: points[length][1])
    how = f"a checkpoint for every {every}" if every else "all kept"
    sheet.text(220, BOTTOM + 32, "each dot is a length of the segment", anchor="middle", ink="muted", size=12.8)
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
