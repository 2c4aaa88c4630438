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
LEFT, RIGHT = 56, 430
PANELS = (("GB", "memory", 80, 176, (0, 20, 40, 60)), ("ms", "compute", 202, 250, (0, 150, 300)))
"""Unit, ink, top, bottom, and the values at the lines, of memory and, below it, of time."""

CONTROLS = (Control("every", "Blocks in a segment", LENGTHS, ("no checkpoints", *map(str, LENGTHS[1:])), 4),)
DRAG = Drag("every", LEFT, RIGHT)


@cache
def point(every: int) -> tuple[float, float]:
    """Seconds of a step, and GB at its fullest moment."""
    words = {"precision": MODE, "checkpointing": f"every:{every}" if every else "none", "update": "fused"}
    memory = training_memory("gpt2-xl", gpu=GPU, batch=BATCH, **words).device_total
    return float(step_time("gpt2-xl", GPU, BATCH, **words).total), memory / GB


def draw(every: int) -> Drawing:
    """The blocks with their checkpoints, and below them memory and time for every length."""
    sheet = Sketch(300)
    _blocks(sheet, every)
    points = {length: point(length) for length in LENGTHS}
    columns = [LEFT + 16 + (RIGHT - LEFT - 32) * place / (len(LENGTHS) - 1) for place in range(len(LENGTHS))]
    here = LENGTHS.index(every)
    sheet.line([(columns[here], PANELS[0][2]), (columns[here], PANELS[-1][3])], "muted", 1.2, dashed=True)
    values = ([size for _, size in points.values()], [1000 * seconds for seconds, _ in points.values()])
    for (unit, ink, top, bottom, lines), found in zip(PANELS, values, strict=True):
        heights = {value: bottom - (bottom - top) * value / lines[-1] for value in (*lines, *found)}
        for value in lines:
            sheet.line([(LEFT, heights[value]), (RIGHT, heights[value])], "border", 1)
            words = f"{value} {unit}" if value == lines[-1] else f"{value}"
            sheet.text(LEFT - 8, heights[value], words, anchor="end", ink="muted", size=12.8)
        curve = [(x, heights[value]) for x, value in zip(columns, found, strict=True)]
        sheet.line(curve, ink, 1.4)
        for place, (x, y) in enumerate(curve):
            if place != here:
                sheet.dot(x, y, 4, fill="bg", line=ink, thick=1.6)
        sheet.dot(*curve[here], 7, fill=ink, line="bg", thick=2)
    for x, length in zip(columns, LENGTHS, strict=True):
        sheet.text(x, 266, f"{length}" if length else "none", anchor="middle", ink="muted", size=12.8)
    sheet.text((LEFT + RIGHT) / 2, 286, "blocks in a segment", anchor="middle", ink="muted", size=12.8)
    seconds, size = points[every]
    least = min(LENGTHS, key=lambda length: points[length][1])
    how = f"a checkpoint for every {every}" if every else "all kept"
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
