"""The figures that a snippet made, as SVG: a last value that draws itself, and matplotlib's open figures."""

from __future__ import annotations

import io
import os
import sys
import warnings
from dataclasses import dataclass
from typing import Any

MOST = 10
"""Figures that one run may show."""
SIZE_LIMIT = 2_000_000
"""Characters of one figure: more would freeze the page that shows it."""

warnings.filterwarnings("ignore", r".* is non-interactive, and thus cannot be shown")


def open_no_windows() -> None:
    """Let matplotlib draw without a screen, in the whole interpreter: at build and in a worker no window can open."""
    os.environ.setdefault("MPLBACKEND", "svg")


@dataclass(frozen=True)
class Figure:
    """A drawing and what it is called, "" where it has no name."""

    svg: str
    name: str


def of_value(value: object) -> Figure | None:
    """The figure that a value is: it has `_repr_svg_`, as notebooks ask for, or is a figure of matplotlib's."""
    if _is_matplotlib(value):
        return _drawn(value)
    draw = None if isinstance(value, type) else getattr(value, "_repr_svg_", None)
    svg = draw() if callable(draw) else None
    return _checked(svg, "") if isinstance(svg, str) else None


def open_figures() -> list[Figure]:
    """Matplotlib's open figures, which are closed: the next snippet begins with none."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    figures = [_drawn(pyplot.figure(number)) for number in pyplot.get_fignums()[:MOST]]
    close_figures()
    return figures


def close_figures() -> None:
    """Forget what is drawn and not shown."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def _is_matplotlib(value: object) -> bool:
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, module.Figure)


def _drawn(figure: Any) -> Figure:
    matplotlib = sys.modules["matplotlib"]
    buffer = io.StringIO()
    # Without a date and with ids that follow from the drawing, equal figures are equal text.
    with matplotlib.rc_context({"svg.hashsalt": "explorable"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
    return _checked(buffer.getvalue(), ", ".join(title for title in titles if title))


def _checked(svg: str, name: str) -> Figure:
    if len(svg) > SIZE_LIMIT:
        raise ValueError(f"the figure has {len(svg):,} characters of SVG; a page shows at most {SIZE_LIMIT:,}")
    return Figure(svg, name)
