"""One block on two GPUs by tensor parallelism: what each holds, what both have whole, and what they send."""

from explorable.figures.drawing import Drawing
from explorable.figures.sketch import Sketch
from ironlaw.parallel import all_reduce_factor

GPUS = ("GPU 1", "GPU 2")
LEFT, WIDE, GAP = 8, 196, 32
"""Where the first GPU's column begins, how wide each is, and what is free between them."""
EDGES = tuple(LEFT + place * (WIDE + GAP) for place in range(len(GPUS)))
RIGHT = EDGES[-1] + WIDE
PAD, SIDE, BAR, STEM, SUM = 8, 42, 25, 15, 31
"""Free room inside a column, a matrix's side, a bar's height, an arrow's length, and that of one with words."""


def draw() -> Drawing:
    """From top to bottom: whole bars and pairs of cut matrices in each GPU's column, and sums across both."""
    assert all_reduce_factor(len(GPUS)) == 1, "a GPU sends as many numbers as the sum has"
    high = 34 + 3 * BAR + 2 * (STEM + part_high() + SUM + BAR + STEM) + 9
    sheet = Sketch(high + 34)
    for x, name in zip(EDGES, GPUS, strict=True):
        sheet.rect(x, 2, WIDE, high, fill="surface", line="border", corner=6)
        sheet.text(x + WIDE / 2, 18, name, anchor="middle", bold=True)
    y = whole(sheet, 34, "same input, norm")
    y = part(sheet, y, "half of the heads", "Q, K, V", "output")
    y = total(sheet, y)
    y = whole(sheet, y, "residual, norm")
    y = part(sheet, y, "half of the MLP", "first", "second")
    y = total(sheet, y)
    y = whole(sheet, y, "residual, output")
    legend(sheet, high + 20)
    return Drawing(
        sheet,
        "One block on two GPUs side by side, from top to bottom. Both have the whole input and its norm. Each holds "
        "half of the heads: half of the columns of the matrices of queries, keys and values, and half of the rows of "
        "the output matrix. Each computes half of a sum. An all-reduce across both GPUs adds the halves. Residual and "
        "norm are whole on both again. Each holds half of the MLP: half of the first matrix's columns, half of the "
        "second's rows. A second all-reduce adds the halves again, and both have the whole output.",
    )


def whole(sheet: Sketch, y: float, words: str) -> float:
    """What both GPUs have and compute whole. Returns where its lower edge is."""
    for x in EDGES:
        sheet.rect(x + PAD, y, WIDE - 2 * PAD, BAR, fill="bg", line="control", thick=1.4, corner=4)
        sheet.text(x + WIDE / 2, y + BAR / 2, words, anchor="middle")
    return y + BAR


def part_high() -> float:
    """The height of a pair of cut matrices with its words."""
    return 43 + SIDE + 22


def part(sheet: Sketch, y: float, words: str, first: str, second: str) -> float:
    """An arrow, then two matrices of which each GPU has half: of the first by columns, of the second by rows."""
    y += STEM
    for place, x in enumerate(EDGES):
        sheet.arrow((x + WIDE / 2, y - STEM + 1), (x + WIDE / 2, y - 1), "control", 1.4)
        sheet.rect(x + PAD, y, WIDE - 2 * PAD, part_high(), fill="bg", line="memory", thick=1.8, corner=4)
        sheet.text(x + WIDE / 2, y + 12, words, anchor="middle", ink="memory", bold=True)
        top, half = y + 43, SIDE / 2
        columns, rows = x + WIDE * 0.27, x + WIDE * 0.73
        for middle, name, cut in ((columns, first, "columns"), (rows, second, "rows")):
            sheet.text(middle, top - 10, name, anchor="middle", size=12.8)
            sheet.text(middle, top + SIDE + 11, cut, anchor="middle", size=12.8, ink="memory")
            sheet.rect(middle - half, top, SIDE, SIDE, fill="none", line="control", dashed=True)
        sheet.rect(columns - half + half * place, top, half, SIDE, fill="memory")
        sheet.rect(rows - half, top + half * place, SIDE, half, fill="memory")
        sheet.arrow((columns + half + 7, top + half), (rows - half - 7, top + half), "control", 1.4)
    return y + part_high()


def total(sheet: Sketch, y: float) -> float:
    """Half a sum from each GPU into the bar of what is sent, and the whole sum out of it."""
    bar = y + SUM
    for x in EDGES:
        middle = x + WIDE / 2
        sheet.arrow((middle, y + 1), (middle, bar - 1), "data", 2)
        sheet.text(middle + 10, y + SUM / 2 - 1, "half a sum", ink="data")
        sheet.arrow((middle, bar + BAR + 1), (middle, bar + BAR + STEM - 1), "control", 1.4)
    sheet.rect(LEFT, bar, RIGHT - LEFT, BAR, fill="data", corner=4)
    sheet.text((LEFT + RIGHT) / 2, bar + BAR / 2, "all-reduce: both get the sum", anchor="middle", ink="bg", bold=True)
    return bar + BAR + STEM


def legend(sheet: Sketch, y: float) -> None:
    """What the three colors mean."""
    meanings = ((LEFT, "memory", "divided weights"), (164, "control", "whole on both"), (308, "data", "sent"))
    for x, ink, words in meanings:
        sheet.rect(x, y - 6, 14, 12, fill="bg" if ink == "control" else ink, line=ink, corner=2)
        sheet.text(x + 20, y, words, size=12.8, ink="muted")
