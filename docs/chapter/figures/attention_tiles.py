"""How FlashAttention walks through the scores tile by tile, keeping three running values for each row."""

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from engine.time import score_bytes
from plugins.book.drawing import Drawing, arrow, diagram
from plugins.shared.svg import INK

TILES, SIDE, NOW = 4, 1.25, 2


def draw() -> Drawing:
    """A row of tiles of the scores; one is on the chip, the ones before it are gone."""
    figure, axes = diagram(3.3, 12, 8.6)
    left, top = 2.5, 6.3
    for column in range(TILES):
        _cell(axes, left + column * SIDE, top + 0.35, SIDE, 0.7, "memory", hatch="//" if column == NOW else "")
        for row in range(TILES):
            _cell(axes, left + column * SIDE, top - (row + 1) * SIDE, SIDE, SIDE, "border")
            if row == 0 or (row == 1 and column < NOW):
                middle = (left + (column + 0.5) * SIDE, top - (row + 0.5) * SIDE)
                axes.text(*middle, "gone", ha="center", va="center", color=INK["muted"])
    for row in range(TILES):
        _cell(axes, left - 1.05, top - (row + 1) * SIDE, 0.7, SIDE, "memory", hatch="//" if row == 1 else "")
    _cell(axes, left + NOW * SIDE, top - 2 * SIDE, SIDE, SIDE, "compute")
    axes.text(left + (NOW + 0.5) * SIDE, top - 1.5 * SIDE, "now", ha="center", va="center", color=INK["compute"])
    axes.text(left + TILES * SIDE / 2, top + 1.3, "blocks of keys, values", ha="center", va="bottom")
    axes.text(left - 1.35, top - TILES * SIDE / 2, "blocks of queries", ha="right", va="center", rotation=90)
    right = left + TILES * SIDE + 0.9
    _cell(axes, right, top - 2 * SIDE, 3.2, SIDE, "optimizer")
    axes.text(right + 1.6, top - 1.5 * SIDE, "maximum, sum,\noutput so far", ha="center", va="center")
    arrow(axes, (left + TILES * SIDE + 0.1, top - 1.5 * SIDE), (right, top - 1.5 * SIDE))
    axes.text(right + 1.6, top - 2 * SIDE - 0.3, "kept on the chip,\none row of each\nper query", ha="center", va="top")
    whole, one = score_bytes(1, 1, 4096, 4) / 1e6, score_bytes(1, 1, 128, 4) / 1e6
    return Drawing(
        figure,
        "A grid of tiles of the scores, with blocks of queries beside it and blocks of keys and values above. One tile "
        "is being computed; those before it are gone. Beside the row stand the three values kept on the chip for each "
        f"query: maximum, sum and output so far. For 4,096 tokens the grid would take {whole:.0f} MB in FP32 for one "
        f"head, a tile of 128 by 128 takes {one:.2f} MB.",
    )


def _cell(axes: Axes, x: float, y: float, width: float, height: float, ink: str, hatch: str = "") -> None:
    style = {"facecolor": INK["surface"], "edgecolor": INK[ink], "hatch": hatch, "linewidth": 1.2}
    axes.add_patch(Rectangle((x, y), width, height, **style))  # type: ignore[arg-type]
