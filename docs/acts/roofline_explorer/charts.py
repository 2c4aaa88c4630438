"""The roofline, drawn by Altair while the site is built. The rows come from act.py."""

from __future__ import annotations

from typing import Any

import altair as alt

from docs.acts.drawing import INK, MUTED, SIZE, SURFACE, framed, rows
from docs.acts.roofline_explorer.act import FRAME

STOPS = "var(--il-data)"
STOP = 48
"""Square pixels of a stop: a radius that can be made out where a phone shows the chart smaller."""
BOUNDS = {"compute": "var(--il-compute)", "memory": "var(--il-memory)"}


def roofline() -> Any:
    """Rate against intensity, both logarithmic; circles as large as their share of the time, names under the roof."""
    axes: dict[str, Any] = {"gridOpacity": 0.35, "format": ",~g"}
    x_scale = alt.Scale(type="log", domain=[FRAME["left"], FRAME["right"]], nice=False)
    y_scale = alt.Scale(type="log", domain=[FRAME["bottom"], FRAME["top"]], nice=False)
    x_axis = alt.Axis(title="FLOP per byte moved", values=[0.1, 1, 10, 100, 1000], **axes)
    y_axis = alt.Axis(title="TFLOP/s", titleAngle=0, titleAlign="left", titleX=-34, titleY=-6, minExtent=50, **axes)
    y_axis.values = [0.1, 1, 10, 100, 1000]

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=y_scale, axis=y_axis)

    x = alt.X("x:Q", scale=x_scale, axis=x_axis)
    hue = alt.Color("bound:N", scale=alt.Scale(domain=list(BOUNDS), range=list(BOUNDS.values())), legend=None)
    areas = alt.Scale(domain=[0, 1], range=[40, 900])
    size = alt.Size("share:Q", scale=areas, legend=None)
    points = rows("points").mark_circle(opacity=1, stroke=SURFACE, strokeWidth=1.5)
    right, left = (rows("labels").transform_filter(f"datum.bound == '{bound}'") for bound in ("memory", "compute"))
    text: dict[str, Any] = {"fontSize": SIZE, "fill": INK, "baseline": "middle"}
    return framed(
        alt.layer(
            rows("roof").mark_line(stroke=MUTED, strokeWidth=2).encode(x=x, y=y("y")),
            # Under the points, which they would hide otherwise.
            rows("path")
            .mark_circle(size=STOP, fill=STOPS, stroke=SURFACE, strokeWidth=1, opacity=1)
            .encode(x=x, y=y("y"))
            .properties(name="path"),
            rows("labels").mark_rule(strokeWidth=1, stroke="var(--il-control)").encode(x=x, y=y("y"), y2="at"),
            points.encode(x=x, y=y("y"), fill=hue, size=size).properties(name="points"),
            rows("handled")
            .transform_calculate(around="datum.share + 0.3")
            .mark_point(stroke=INK, strokeWidth=1.5, fill="transparent")
            .encode(x=x, y=y("y"), size=alt.Size("around:Q", scale=areas, legend=None))
            .properties(name="handled"),
            right.mark_text(align="left", dx=9, **text).encode(x=x, y=y("at"), text="text:N"),
            left.mark_text(align="right", dx=-4, **text).encode(x=x, y=y("at"), text="text:N"),
            rows("ridge").mark_text(align="left", x=34, y=-10, fontSize=SIZE, fill=MUTED).encode(text="text:N"),
        ),
        310,
        left=48,
        right=8,
        top=26,
        bottom=44,
    )
