"""What four devices copy and what they divide: data, ZeRO, tensor and pipeline parallelism."""

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from explorable.figures.drawing import Drawing, diagram
from explorable.shared.svg import INK

DEVICES = 4
SIDE = 3.4
"""Units of a whole model, drawn as a square: its layers from top to bottom, the width of each from left to right."""
SMALL = 1.5


def draw() -> Drawing:
    """Four squares: copied four times, copied by quarters, cut upright, cut across."""
    figure, axes = diagram(4.0, 12, 10.8)
    copies(axes, 0.9, 5.9, "Data: four copies,\nfour batches", divided=False)
    copies(axes, 7.1, 5.9, "ZeRO: four batches,\na quarter kept each", divided=True)
    for number in range(DEVICES):
        part(axes, 0.9 + number * SIDE / DEVICES, 0.3, SIDE / DEVICES, SIDE, str(number + 1))
        part(axes, 7.1, 0.3 + (DEVICES - 1 - number) * SIDE / DEVICES, SIDE, SIDE / DEVICES, str(number + 1))
    title(axes, 0.9, 0.3, "Tensor: every matrix\nin four parts")
    title(axes, 7.1, 0.3, "Pipeline: four groups\nof layers")
    return Drawing(
        figure,
        "Four squares, each a model, its layers one below the other. Data parallelism gives each of four devices a "
        "whole copy. ZeRO gives each a quarter, to be lent to the others. Tensor parallelism cuts the square into four "
        "upright strips, so that every device has a part of every layer. Pipeline parallelism cuts it across, so that "
        "every device has a quarter of the layers.",
    )


def copies(axes: Axes, x: float, y: float, text: str, *, divided: bool) -> None:
    """Four small models; when `divided`, each device keeps a quarter of its own and leaves the rest empty."""
    for number in range(DEVICES):
        left, bottom = x + (number % 2) * 1.9, y + (1 - number // 2) * 1.9
        if divided:
            outline = {"facecolor": "none", "edgecolor": INK["memory"], "linestyle": "--"}
            axes.add_patch(Rectangle((left, bottom), SMALL, SMALL, **outline))  # type: ignore[arg-type]
            height = SMALL / DEVICES
            at = bottom + (DEVICES - 1 - number) * height
            part(axes, left, at, SMALL, height, "")
            # A quarter is too low for a number: it stands in the empty part next to it.
            beside = at + (-0.35 if number < DEVICES // 2 else height + 0.35)
            axes.text(left + SMALL / 2, beside, str(number + 1), ha="center", va="center")
        else:
            part(axes, left, bottom, SMALL, SMALL, str(number + 1))
    title(axes, x, y, text)


def part(axes: Axes, x: float, y: float, width: float, height: float, text: str) -> None:
    """What one device holds, with its number."""
    style = {"facecolor": INK["surface"], "edgecolor": INK["memory"], "linewidth": 1.4}
    axes.add_patch(Rectangle((x, y), width, height, **style))  # type: ignore[arg-type]
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center")


def title(axes: Axes, x: float, y: float, text: str) -> None:
    """The name over a square that begins at (x, y)."""
    axes.text(x + SIDE / 2, y + SIDE + 0.2, text, ha="center", va="bottom", linespacing=1.25)
