"""A sign for the lab: a bar that the reader guesses, hatched, beside one that nobody has seen yet."""

from explorable.figures.drawing import Drawing
from explorable.figures.sketch import Sketch


def draw() -> Drawing:
    """No number stands in it: the answers are behind the questions."""
    sheet = Sketch(210)
    sheet.line([(20, 190), (420, 190)], "control", 3)
    sheet.rect(85, 80, 90, 110, fill="bg", line="control", thick=4, hatched=True)
    sheet.rect(265, 30, 90, 160, fill="surface", line="memory", thick=4, dashed=True)
    sheet.text(310, 112, "?", size=90, anchor="middle", ink="memory", bold=True)
    return Drawing(sheet, "A hatched bar, the reader's guess, beside a taller outlined bar with a large question mark.")
