"""A plot of a measured table's column, drawn by matplotlib while the site is built, as an SVG in the page's colors.

The table above it holds the same numbers, so the plot needs no other text for those who cannot see it.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, fromstring

from markdown.util import AtomicString

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = {
    "#00763a": "var(--il-compute,#00763a)",
    "#006395": "var(--il-memory,#006395)",
    "#6a3fa5": "var(--il-optimizer,#6a3fa5)",
    "#b04a00": "var(--il-data,#b04a00)",
    "#1f2328": "var(--il-fg,#1f2328)",
    "#d9d3c7": "var(--il-border,#d9d3c7)",
}
"""What matplotlib draws with -> what the page shows, in its light and its dark colors."""
_SERIES, _TEXT, _GRID = list(_COLORS)[:4], "#1f2328", "#d9d3c7"
_MARKS = ("o", "s", "D", "^")
_BARS_INCH = 0.32
_MOST_TICKS = 9
"""Up to so many positions are named one by one: between 2 and 4 GPUs there is nothing."""
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"


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

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": title,
        "font.family": "sans-serif",
        "font.size": 10,
        "text.color": _TEXT,
        "axes.edgecolor": _GRID,
        "axes.labelcolor": _TEXT,
        "xtick.color": _TEXT,
        "ytick.color": _TEXT,
    }
    with rc_context(settings):
        lines = any(one.x for one in series)
        rows = sum(len(one.y) for one in series)
        figure = Figure(figsize=(6.4, 3.4 if lines else 0.9 + _BARS_INCH * rows), layout="constrained")
        axes = figure.add_subplot()
        (_lines if lines else _bars)(axes, series)
        axes.set_xlabel(x_title if lines else y_title)
        if lines:
            axes.set_ylabel(y_title)
            if logarithmic:
                axes.set_xscale("log", base=2)
            positions = sorted({x for one in series for x in one.x if x is not None})
            if len(positions) <= _MOST_TICKS:
                axes.set_xticks(positions, [f"{x:,g}" for x in positions])
                axes.minorticks_off()
            axes.set_ylim(bottom=0)
        axes.grid(color=_GRID, linewidth=0.6, axis="both" if lines else "x")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if len(series) > 1:
            figure.legend(frameon=False, loc="outside upper left", ncols=3)
        out = io.BytesIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _embedded(out.getvalue().decode("utf-8"), title)


def _lines(axes: Axes, series: Sequence[Series]) -> None:
    for number, one in enumerate(series):
        pairs = sorted((x, y) for x, y in zip(one.x, one.y, strict=True) if x is not None and y is not None)
        style: dict[str, Any] = {
            "color": _SERIES[number % len(_SERIES)],
            "marker": _MARKS[number % len(_MARKS)],
            "markersize": 5,
        }
        axes.plot([x for x, _ in pairs], [y for _, y in pairs], label=one.name, linewidth=1.4, **style)


def _bars(axes: Axes, series: Sequence[Series]) -> None:
    labels: list[str] = []
    for number, one in enumerate(series):
        color, begin = _SERIES[number % len(_SERIES)], len(labels)
        # matplotlib leaves a gap where there is no value.
        widths = [float("nan") if value is None else value for value in one.y]
        axes.barh(range(begin, begin + len(widths)), widths, color=color, height=0.62, label=one.name)
        labels += one.labels
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()


def _embedded(text: str, title: str) -> Element:
    """The SVG fit to stand in a page: own names for its parts, no style sheet of its own, the page's colors."""
    own = "p" + hashlib.sha256(title.encode()).hexdigest()[:8] + "-"
    root = fromstring(text[text.index("<svg") :])
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}metadata", f"{_SVG}style") or not isinstance(child.tag, str):
                parent.remove(child)
    for node in root.iter():
        node.tag = node.tag.removeprefix(_SVG)
        attributes = dict(node.attrib)
        node.attrib.clear()
        for name, value in attributes.items():
            if name == "id":
                value = own + value
            elif name == _LINK:
                name, value = "href", f"#{own}{value.removeprefix('#')}"
            value = value.replace("url(#", f"url(#{own}")
            for color, shown in _COLORS.items():
                value = value.replace(color, shown)
            node.set(name, value)
        if node.text and node.text.strip():
            node.text = AtomicString(node.text)
    # What matplotlib's style sheet said for everything.
    root.set("style", "stroke-linejoin:round;stroke-linecap:butt;width:100%;height:auto;max-width:40rem")
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {"role": "img", "aria-label": title, "class": "il-plot"}
    return root
