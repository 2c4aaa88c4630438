"""A plot of a measured table's column, drawn by matplotlib while the site is built, as an SVG in the page's colors.

The table above it holds the same numbers, so the plot needs no other text for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from explorable.book import current
from explorable.shared.svg import INK, drawn, embedded, settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = ("o", "s", "D", "^")
_WIDTH = 4.6
"""Inches: so narrow that a phone shows the letters in nearly their own size."""
_BARS_INCH = 0.32
_MOST_TICKS = 9
"""Up to so many positions are named one by one: between 2 and 4 machines there is nothing."""


@dataclass(frozen=True)
class Series:
    """The values of one device.

    Attributes:
        name: The device.
        labels: Of the rows, where no column gives the horizontal position.
        x: Horizontal positions; empty for bars, one per row.
        y: Values; None where a row has none.
    """

    name: str
    labels: Sequence[str]
    x: Sequence[float | None]
    y: Sequence[float | None]


def draw(title: str, x_title: str, y_title: str, series: Sequence[Series], *, logarithmic: bool) -> Element:
    """The plot as an `svg` element: lines with marks over a column, or bars by row."""
    # Only a site with records to plot needs it, and it takes a second to import.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(settings(title)):
        lines = any(one.x for one in series)
        rows = sum(len(one.y) for one in series)
        figure = Figure(figsize=(_WIDTH, 2.9 if lines else 0.9 + _BARS_INCH * rows), layout="constrained")
        axes = figure.add_subplot()
        (_lines if lines else _bars)(axes, series)
        axes.set_xlabel(x_title if lines else y_title)
        if lines:
            axes.set_ylabel(y_title)
            if logarithmic:
                axes.set_xscale("log", base=2)
            positions = sorted({x for one in series for x in one.x if x is not None})
            if len(positions) <= _MOST_TICKS:
                axes.set_xticks(positions, tick_labels(positions), fontsize="small")
                axes.minorticks_off()
            axes.set_ylim(bottom=0)
        axes.grid(color=INK["border"], linewidth=0.6, axis="both" if lines else "x")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if len(series) > 1:
            figure.legend(frameon=False, loc="outside upper left", ncols=3)
        return embedded(drawn(figure), title, width="28rem")


def tick_labels(positions: Sequence[float]) -> list[str]:
    """Labels of named positions: with binary prefixes where the largest would have seven digits and more."""
    if positions[-1] < 1e6:
        return [f"{x:,g}" for x in positions]
    return [binary(x) for x in positions]


def binary(x: float) -> str:
    """A number with a binary prefix: `4 Gi`."""
    power = min(3, max(0, int(x).bit_length() - 1) // 10)
    return f"{x / 1024**power:,g} {('', 'Ki', 'Mi', 'Gi')[power]}".strip()


def _ink(number: int) -> str:
    """The color of a series: the first four of the book, in turn."""
    colors = list(current().colors)[:4] or ["fg"]
    return INK[colors[number % len(colors)]]


def _lines(axes: Axes, series: Sequence[Series]) -> None:
    for number, one in enumerate(series):
        pairs = sorted((x, y) for x, y in zip(one.x, one.y, strict=True) if x is not None and y is not None)
        style: dict[str, Any] = {
            "color": _ink(number),
            "marker": _MARKS[number % len(_MARKS)],
            "markersize": 5,
        }
        axes.plot([x for x, _ in pairs], [y for _, y in pairs], label=one.name, linewidth=1.4, **style)


def _bars(axes: Axes, series: Sequence[Series]) -> None:
    labels: list[str] = []
    for number, one in enumerate(series):
        color, begin = _ink(number), len(labels)
        # matplotlib leaves a gap where there is no value.
        widths = [float("nan") if value is None else value for value in one.y]
        axes.barh(range(begin, begin + len(widths)), widths, color=color, height=0.62, label=one.name)
        labels += one.labels
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
