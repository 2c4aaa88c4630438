"""The curves of a card: one small plot per size of GPT-2, lines as predicted, dots as measured, drawn at build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from explorable.shared.svg import INK, ROOM, drawn, embedded, settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _ROW = 4.6, 2.15
"""Inches: so narrow that a phone shows the letters in nearly their own size."""
_STYLES = (("muted", "--", "s"), ("memory", "-", "o"), ("optimizer", "-.", "D"))
"""Color, line, mark of measured points: lines differ without color, too."""


@dataclass(frozen=True)
class Line:
    """One setting in one plot.

    Attributes:
        name: Of the setting.
        predicted: Batches and values.
        measured: Likewise.
    """

    name: str
    predicted: Sequence[tuple[int, float]]
    measured: Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Panel:
    """The plot of one size: its title and its lines."""

    title: str
    lines: Sequence[Line]


def draw(panels: Sequence[Panel], title: str, *, limit: float | None, limit_text: str, alternative: str) -> Element:
    """The picture as an `svg` element.

    Args:
        panels: Two in a row.
        title: Of the vertical axes, with the unit.
        limit: Where the card ends; None for an axis without such a line.
        limit_text: What the line is called.
        alternative: What stands for the picture where it cannot be seen.
    """
    # Only a page with curves needs it, and it takes a second to import.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({**settings(alternative, 9.5), "axes.titlesize": "medium"}):
        figure = Figure(figsize=(_WIDTH, 0.5 + _ROW * len(panels) / 2), layout="constrained")
        grid = figure.subplots(len(panels) // 2, 2, sharex=True, squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=True):
            _panel(axes, panel)
            if limit is not None:
                axes.axhline(limit, color=INK["limit"], linewidth=1.2, linestyle=":")
                axes.set_ylim(0, 2.2 * limit)
                # Once, in the plot of the smallest size: there alone no curve comes near it on the left.
                if panel is panels[0]:
                    words = {"color": INK["limit"], "fontsize": 8.5 * ROOM}
                    axes.text(1, limit * 1.03, limit_text, va="bottom", **words)
        figure.supxlabel("sequences in the batch", fontsize="medium")
        figure.supylabel(title, fontsize="medium")
        handles, labels = grid.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, loc="outside upper left", ncols=3, columnspacing=1.2)
        return embedded(drawn(figure), alternative, width="34rem")


def _panel(axes: Axes, panel: Panel) -> None:
    axes.set_title(panel.title, loc="left", fontweight="bold")
    for line, (ink, dash, mark) in zip(panel.lines, _STYLES, strict=True):
        color = INK[ink]
        x, y = [batch for batch, _ in line.predicted], [value for _, value in line.predicted]
        # A single batch would be no line.
        single = mark if len(x) == 1 else "none"
        axes.plot(x, y, color=color, linestyle=dash, linewidth=1.5, label=line.name, marker=single, fillstyle="none")
        if line.measured:
            dots = [batch for batch, _ in line.measured], [value for _, value in line.measured]
            axes.plot(*dots, color=color, linestyle="none", marker=mark, markersize=4.5)
    axes.set_xscale("log", base=2)
    axes.set_xlim(0.8, 320)
    axes.set_xticks([1, 4, 16, 64, 256], ["1", "4", "16", "64", "256"])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.grid(color=INK["border"], linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
