"""A sign for the engine: the formula's mark, operations above the line, and devices, peak and utilization below it."""

from explorable.figures.drawing import Drawing
from explorable.figures.sketch import Sketch


def draw() -> Drawing:
    """A fraction of blocks."""
    sheet = Sketch(210)
    sheet.rect(120, 24, 200, 62, fill="fg", corner=6)
    sheet.line([(40, 108), (400, 108)], "fg", 6)
    for place, ink in enumerate(("memory", "compute", "data")):
        sheet.rect(52 + 122 * place, 130, 92, 60, fill=ink, corner=6)
    return Drawing(sheet, "A block above a line and three blocks below it: operations over devices, peak, utilization.")
