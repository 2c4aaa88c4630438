"""FlashAttention, tile by tile: the scores of one row, and the three values that stand for all of them."""

import math
import random

from explorable.figures.drawing import Drawing
from explorable.figures.moving import Control, Drag, Reading
from explorable.figures.sketch import Sketch
from ironlaw.time import score_bytes

TILES, SIDE = 4, 44
LEFT, TOP = 40, 44
STEPS = TILES * TILES
TOKENS, TILE, HEAD_BYTES = 4096, 128, 4
"""The real size: tokens, rows of a tile, bytes of a score."""

CONTROLS = (
    Control("step", "Tile", range(1, STEPS + 1), tuple(f"{step} of {STEPS}" for step in range(1, STEPS + 1)), 7),
)
DRAG = Drag("step", LEFT, LEFT + TILES * SIDE)


def scores(row: int) -> list[list[float]]:
    """Scores of one query in each tile of its row: four in each, made up once and for all."""
    chance = random.Random(row)
    return [[round(chance.uniform(-2, 4), 1) for _ in range(4)] for _ in range(TILES)]


def draw(step: int) -> Drawing:
    """The grid of tiles, the one on the chip, and the running maximum and sum of one query."""
    row, column = divmod(step - 1, TILES)
    found = scores(row)
    before = [score for tile in found[:column] for score in tile]
    now = [score for tile in found[: column + 1] for score in tile]
    greatest = max(now)
    total = sum(math.exp(score - greatest) for score in now)
    running = 0.0
    high = -math.inf
    for tile in found[: column + 1]:
        new = max(high, *tile)
        running = running * math.exp(high - new) + sum(math.exp(score - new) for score in tile)
        high = new
    assert math.isclose(running, total), "corrected as it goes, the sum is that of the whole row"
    shrink = math.exp(max(before) - greatest) if before else 0.0
    factor = "no old sum" if not before else "1: no new maximum" if shrink == 1 else f"{shrink:.3g}"
    sheet = Sketch(TOP + TILES * SIDE + 42)
    _grid(sheet, row, column)
    x, y = LEFT + TILES * SIDE + 30, TOP
    sheet.text(x, y + 4, "on the chip, for one query:", size=12.8, ink="muted")
    lines = (
        ("scores of this tile", "  ".join(f"{score:g}" for score in found[column])),
        ("maximum so far", f"{greatest:g}"),
        ("old sum is multiplied by", factor),
        ("sum so far", f"{total:.3f}"),
        ("output so far", f"{len(now)} of {4 * TILES} values in"),
    )
    for place, (name, value) in enumerate(lines):
        at = y + 26 + 40 * place
        sheet.text(x, at, name, size=12.8, ink="muted")
        sheet.text(x, at + 16, value, size=13, bold=True, ink="optimizer" if place else "compute")
    part, whole = score_bytes(1, 1, TILE, HEAD_BYTES), score_bytes(1, 1, TOKENS, HEAD_BYTES)
    return Drawing(
        sheet,
        f"A grid of {TILES} by {TILES} tiles of the scores. Tile {step} is on the chip: block {row + 1} of the queries "
        f"with block {column + 1} of keys and values. The tiles before it are gone. One query's maximum so far is "
        f"{greatest:g}, its sum of exponentials {total:.3f}.",
        (
            Reading("A tile on the chip", f"{part / 1e3:.0f}", f"kB, {TILE} × {TILE} scores"),
            Reading("All scores, never written", f"{whole / 1e6:.0f}", f"MB a head, {TOKENS:,} tokens"),
        ),
    )


def _grid(sheet: Sketch, row: int, column: int) -> None:
    for place in range(TILES):
        x = LEFT + place * SIDE
        sheet.rect(x + 1, TOP - 26, SIDE - 2, 20, fill="memory", faint=0.6 if place == column else 0.2)
        y = TOP + place * SIDE
        sheet.rect(LEFT - 26, y + 1, 20, SIDE - 2, fill="memory", faint=0.6 if place == row else 0.2)
        for other in range(TILES):
            done = (place, other) < (row, column)
            here = (place, other) == (row, column)
            x = LEFT + other * SIDE
            fill, ink = ("compute", "fg") if here else ("bg", "border")
            sheet.rect(x + 1, y + 1, SIDE - 2, SIDE - 2, fill=fill, line=ink, faint=1, dashed=done, corner=2)
            if here:
                sheet.text(x + SIDE / 2, y + SIDE / 2, "now", anchor="middle", ink="bg", bold=True)
            elif done:
                sheet.text(x + SIDE / 2, y + SIDE / 2, "gone", anchor="middle", ink="muted", size=12.8)
    sheet.text(LEFT, TOP - 36, "keys and values pass by", size=12.8, ink="muted")
    sheet.text(LEFT - 30, TOP + TILES * SIDE + 16, "queries stay for a row of tiles", size=12.8, ink="muted")
