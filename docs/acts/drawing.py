"""What the charts of several acts share: named rows, colors with one meaning each, and text that a phone can show."""

from __future__ import annotations

from typing import Any

import altair as alt

SIZE = 13
"""Font size of all text, which stays readable when a phone shows the chart at four fifths."""
WIDTH = 352
"""Width of the plot, which the bench shows without scaling."""
PARTS = {
    "data": "var(--il-data)",
    "transfer": "var(--il-memory)",
    "compute": "var(--il-compute)",
    "recompute": "var(--il-compute)",
    "failed": "var(--il-limit)",
    "hidden": "var(--il-control)",
}
"""Parts of an iteration. Recompute has the color of compute under a hatching."""
MEMORY = {
    "parameters": "var(--il-memory)",
    "gradients": "var(--il-data)",
    "master": "var(--il-memory-2)",
    "optimizer": "var(--il-optimizer)",
    "optimizer_2": "var(--il-optimizer-2)",
    "activations": "var(--il-activation)",
    "passing": "var(--il-passing)",
    "buffers": "var(--il-control)",
    "driver": "var(--il-control)",
}
"""Parts of memory, as in the chapter's figures. Passing tensors stay apart from the others for color-blind readers."""
INK, MUTED, LIMIT, SURFACE = "var(--il-fg)", "var(--il-muted)", "var(--il-limit)", "var(--il-surface)"
HATCH = "url(#il-hatch)"
"""The page's hatching, for the reader's own prediction and for what is computed again."""


def rows(name: str) -> alt.Chart:
    """A chart over a named data set that the act fills."""
    return alt.Chart(alt.InlineData(name=name, values=[]))


def color(field: str, colors: dict[str, str]) -> Any:
    """A fill by name, without a legend: labels name what they stand beside."""
    scale = alt.Scale(domain=list(colors), range=list(colors.values()))
    return alt.Color(f"{field}:N", scale=scale, legend=None)


def place(at: float, channel: type[alt.X] | type[alt.Y], top: float = 100) -> Any:
    """A fixed place on a stage that is `top` wide and has no axis."""
    return channel(datum=at, type="quantitative", axis=None, scale=alt.Scale(domain=[0, top], nice=False))


def stage(field: str, channel: type[alt.X] | type[alt.Y], top: float = 100, *, reverse: bool = False) -> Any:
    """A field on such a stage."""
    return channel(field, type="quantitative", axis=None, scale=alt.Scale(domain=[0, top], nice=False, reverse=reverse))


def config() -> alt.Config:
    """Light axes, the page's font."""
    axis = alt.AxisConfig(
        labelFontSize=SIZE,
        titleFontSize=SIZE,
        labelColor=MUTED,
        titleColor=MUTED,
        gridOpacity=0.6,
        domain=False,
        ticks=False,
    )
    return alt.Config(font="inherit", axis=axis)


def finish(chart: Any, **properties: Any) -> Any:
    """The chart with its size, a little room around it and the quiet look. For charts made of several views."""
    padding = {"left": 2, "right": 2, "top": 6, "bottom": 6}
    return chart.properties(**{"padding": padding, **properties}).configure(**_plain(config()))


def framed(chart: Any, height: int, *, left: int = 4, right: int = 4, top: int = 8, bottom: int = 8) -> Any:
    """A single view in a frame that never changes, whatever its rows and however wide the page's font runs.

    Args:
        chart: A chart without sizes.
        height: Pixels of the whole, as `WIDTH` is its width.
        left: Pixels for what stands left of the plot.
        right: Right of it.
        top: Above it.
        bottom: Below it.
    """
    return finish(
        chart,
        width=WIDTH - left - right,
        height=height - top - bottom,
        padding={"left": left, "right": right, "top": top, "bottom": bottom},
        autosize=alt.AutoSizeParams(type="none"),
    )


def _plain(settings: alt.Config) -> dict[str, Any]:
    plain: dict[str, Any] = settings.to_dict()
    return plain
