"""Numbers at the axes of a plot as the text writes them: `1,000`."""

from __future__ import annotations

import re

from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

_LONG = re.compile(r"(?<![\d.])\d{4,}")


class _Grouped(ScalarFormatter):
    """matplotlib's own numbers, with a comma between thousands."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return _LONG.sub(lambda found: f"{int(found[0]):,}", super().__call__(x, pos))


def group_thousands(figure: Figure) -> None:
    """Put a comma between the thousands of every axis that nobody gave words."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if type(axis.get_major_formatter()) is ScalarFormatter:
                axis.set_major_formatter(_Grouped())
