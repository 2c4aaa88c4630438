"""What the author of a figure draws with: a canvas in the site's colors, boxes and arrows, and the result.

A figure is a Python file with a function `draw() -> Drawing`. It computes from the engine and writes its own
alternative text from the same numbers, so the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from explorable.figures.moving import Reading
from explorable.figures.sketch import Sketch
from explorable.shared.svg import INK

WIDTH = 4.6
"""Inches. Narrow enough that a phone shows letters at full size; wider screens enlarge the picture a little."""


@dataclass(frozen=True)
class Drawing:
    """A finished figure: the picture, its alternative text, and the numbers above a figure that moves."""

    figure: Figure | Sketch
    alternative: str
    readings: tuple[Reading, ...] = ()


def canvas(height: float) -> tuple[Figure, Axes]:
    """A figure of the site's width and `height` inches, with one plot."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    return figure, axes


def diagram(height: float, columns: float, rows: float) -> tuple[Figure, Axes]:
    """A figure without axes, for boxes and arrows: `columns` units wide and `rows` high, counted from below left."""
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, columns)
    axes.set_ylim(0, rows)
    axes.set_axis_off()
    return figure, axes


def box(
    axes: Axes, x: float, y: float, width: float, height: float, text: str, ink: str = "fg", *, filled: bool = False
) -> None:
    """A rounded box with its lower left corner at (x, y), outlined or `filled` in a color, with text in its middle."""
    shape = "round,pad=0,rounding_size=0.12"
    style = {"facecolor": INK[ink if filled else "surface"], "edgecolor": INK[ink], "linewidth": 1.4}
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=shape, **style))  # type: ignore[arg-type]
    lines(axes, x + width / 2, y + height / 2, text, "center", ink="bg" if filled else "fg")


def lines(axes: Axes, x: float, y: float, text: str, side: str, weight: str = "normal", ink: str = "fg") -> None:
    """Lines of text around the height y, each held at x by its `side`: left, center or right.

    Each is a text of its own: the lines of one text stand where its own font would put them, and the page has another.
    """
    rows = text.split("\n")
    for place, row in enumerate(rows):
        up = 1.35 * ((len(rows) - 1) / 2 - place)
        axes.annotate(
            row, (x, y), (0, up), textcoords="offset fontsize", ha=side, va="center", weight=weight, color=INK[ink]
        )


def y_title(axes: Axes, words: str) -> None:
    """The name of an axis upwards that is longer than the axis: above the plot, where it need not be turned."""
    axes.set_title(words, loc="left", fontsize=rcParams["font.size"])


def row_names(axes: Axes, names: Sequence[str]) -> None:
    """Names of rows at the heights 0, 1, … left of a plot, each of one or more lines, all of which end at the axis."""
    axes.set_yticks(range(len(names)), ["" for _ in names])
    for place, name in enumerate(names):
        rows = name.split("\n")
        for line, row in enumerate(rows):
            up = 1.2 * ((len(rows) - 1) / 2 - line)
            where = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset fontsize"}
            axes.annotate(row, (0, place), (-0.7, up), ha="right", va="center", **where)  # type: ignore[arg-type]


def arrow(axes: Axes, begin: tuple[float, float], end: tuple[float, float], ink: str = "muted") -> None:
    """An arrow from one point to another."""
    style = {"arrowstyle": "-|>", "color": INK[ink], "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, begin, arrowprops=style)
