"""A sign for the chapter: one step of GPT-2's memory, filling in the forward pass and emptying in the backward pass."""

from explorable.figures.drawing import Drawing
from explorable.figures.sketch import Sketch
from ironlaw import training_memory

LEFT, RIGHT, TOP, BOTTOM = 20, 420, 20, 190


def draw() -> Drawing:
    """The moments that the engine knows of a step, joined by lines."""
    ledger = training_memory("gpt2", gpu="rtx-4060", batch=4, optimizer="sgd", precision="fp32")
    sizes = [moment.bytes for moment in ledger.moments]
    highest = max(sizes)
    points = [
        (LEFT + (RIGHT - LEFT) * place / (len(sizes) - 1), BOTTOM - (BOTTOM - TOP) * size / highest)
        for place, size in enumerate(sizes)
    ]
    sheet = Sketch(210)
    sheet.area([(LEFT, BOTTOM), *points, (RIGHT, BOTTOM)], "memory", faint=0.35)
    sheet.line(points, "memory", 5)
    sheet.line([(LEFT, BOTTOM), (RIGHT, BOTTOM)], "control", 3)
    top = points[sizes.index(highest)]
    sheet.dot(*top, 12, fill="limit", line="bg", thick=4)
    return Drawing(
        sheet, "Memory over one training step of GPT-2: it rises, has one highest moment with a dot, and falls."
    )
