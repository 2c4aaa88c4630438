"""The charts of the scaling explorer, drawn by Altair while the site is built. The rows come from act.py."""

from __future__ import annotations

from typing import Any

import altair as alt

from docs.acts.drawing import INK, PARTS, SURFACE, color, framed, rows

COUNTS = ["1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1024"]


def _x() -> alt.X:
    """All numbers of GPUs, whether rows have come or not, so that the axis stands still."""
    axis = alt.Axis(
        title="GPUs", labelAngle=0, grid=False, values=COUNTS[::2], labelExpr="format(toNumber(datum.value), ',')"
    )
    return alt.X("devices:N", scale=alt.Scale(domain=COUNTS), axis=axis)


def efficiency() -> Any:
    """Throughput per GPU relative to a GPU alone."""
    axis = alt.Axis(title=None, labelExpr="datum.label + ' %'", minExtent=52, tickCount=5)
    y = alt.Y("efficiency:Q", scale=alt.Scale(domain=[0, 100]), axis=axis)
    curve = rows("curve").mark_line(stroke="var(--il-compute)", strokeWidth=2.5)
    dots = rows("curve").mark_point(
        size=60, strokeWidth=2, fill="var(--il-compute)", stroke="var(--il-compute)", opacity=1
    )
    here = rows("curve").transform_filter("datum.current").mark_point(size=240, strokeWidth=1.5, stroke=INK)
    layers = (mark.encode(x=_x(), y=y) for mark in (curve, dots, here))
    return framed(alt.layer(*layers), 240, left=52, right=16, bottom=44)


def step() -> Any:
    """Communication in ms: below runs beside the backward pass, blue is what the step waits for."""
    axis = alt.Axis(
        title="ms", titleAngle=0, titleAlign="left", titleX=-30, titleY=-6, tickCount=4, format=",d", minExtent=52
    )
    y = alt.Y("from:Q", axis=axis)
    bars = rows("bars").mark_bar(stroke=SURFACE, strokeWidth=1)
    drawn = bars.encode(x=_x(), y=y, y2="to:Q", fill=color("part", PARTS))
    return framed(drawn, 220, left=52, right=16, top=26, bottom=44)
