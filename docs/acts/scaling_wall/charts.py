"""The charts of part 3: the loss as it comes down or explodes, and the scaling efficiency plot."""

from __future__ import annotations

from typing import Any

import altair as alt

from docs.acts.drawing import INK, LIMIT, MUTED, SIZE, SURFACE, framed, rows
from docs.acts.missions.tracks import track_of
from docs.acts.scaling_wall.corner import CORNERS

HUES = ["var(--il-compute)", "var(--il-memory)", "var(--il-optimizer)", "var(--il-data)"]
SHAPES = ["circle", "square", "triangle-up", "diamond"]


def curve() -> Any:
    """The loss over the samples seen, on a logarithmic axis: the middle training, the band, what is to be reached."""
    x = alt.X(
        "seen:Q",
        axis=alt.Axis(title="samples seen, %", tickCount=5, grid=False),
        scale=alt.Scale(domain=[0, 100], nice=False),
    )
    y_axis = alt.Axis(title=None, values=[0.001, 0.01, 0.1, 1, 10], format="~g")
    y_scale = alt.Scale(type="log", domain=[0.001, 10], nice=False)
    y = alt.Y("loss:Q", axis=y_axis, scale=y_scale)
    text: dict[str, Any] = {"fontSize": SIZE, "baseline": "bottom"}
    goal = rows("goal")
    layers: list[Any] = [
        goal.mark_rule(stroke=INK, strokeDash=[2, 3]).encode(y=y),
        goal.mark_text(align="right", dy=-3, x=284, fill=MUTED, **text).encode(y=y, text="text:N"),
        rows("band")
        .mark_area(fill="var(--il-compute)", opacity=0.22)
        .encode(x=x, y=alt.Y("low:Q", axis=y_axis, scale=y_scale), y2="high:Q"),
        rows("curve").mark_line(stroke="var(--il-compute)", strokeWidth=2).encode(x=x, y=y),
        rows("exploded").mark_rule(stroke=LIMIT, strokeWidth=2).encode(x=x),
        rows("exploded")
        .mark_text(align="left", dx=6, fontWeight=600, fill=LIMIT, **text)
        .encode(x=x, y=y, text="text:N"),
    ]
    return framed(alt.layer(*layers), 220, left=48, right=20, bottom=44)


def scaling(track: str) -> Any:
    """MFU over the samples of an update: a line for each number of devices, hollow beyond a limit."""
    levers = {lever.name: lever.values for lever in track_of(track).wall.levers}
    devices = [str(value) for value in levers.get("devices", ("both",))]
    x = alt.X(
        "batch:Q",
        axis=alt.Axis(title="samples in an update", tickCount=4, format="~s", grid=False),
        scale=alt.Scale(type="log", nice=True),
    )
    y = alt.Y(
        "mfu:Q",
        axis=alt.Axis(title=None, labelExpr="datum.label + ' %'", tickCount=5),
        scale=alt.Scale(domain=[0, 100]),
    )
    known = alt.Scale(domain=devices, range=HUES[: len(devices)])
    hue = alt.Color("devices:N", scale=known, legend=None)
    shape = alt.Shape("devices:N", scale=alt.Scale(domain=devices, range=SHAPES[: len(devices)]), legend=None)
    points = rows("points").mark_point(size=80, strokeWidth=2, opacity=1)
    here = rows("points").transform_filter("datum.current").mark_point(size=320, stroke=INK, strokeWidth=1.5)
    # The line's name: above its last point.
    last = rows("points").transform_joinaggregate(most="max(batch)", groupby=["devices"])
    last = last.transform_filter("datum.batch == datum.most")
    goal = rows("target")
    text: dict[str, Any] = {"fontSize": SIZE, "baseline": "bottom"}
    name: dict[str, Any] = {"fontSize": SIZE, "fill": MUTED}
    layers: list[Any] = [
        goal.mark_rule(stroke=INK, strokeDash=[2, 3]).encode(y=y),
        rows("points").mark_line(strokeWidth=2).encode(x=x, y=y, stroke=hue),
        points.encode(
            x=x, y=y, stroke=hue, shape=shape, fill=alt.condition("datum.fits", hue, alt.value(SURFACE))
        ).properties(name="points"),
        here.encode(x=x, y=y),
    ]
    for end, side in CORNERS:
        there = goal.transform_filter((alt.datum.end == end) & (alt.datum.side == side))
        at: dict[str, Any] = {"x": 3} if end == "left" else {"x": {"expr": "width - 3"}}
        up = side == "above"
        mark = there.mark_text(align=end, baseline="bottom" if up else "top", dy=-3 if up else 4, **at, **name)
        layers.append(mark.encode(y=y, text="text:N"))
    if len(devices) > 1:
        layers.append(last.mark_text(align="center", dy=-10, fill=INK, **text).encode(x=x, y=y, text="devices:N"))
    return framed(alt.layer(*layers), 240, left=52, right=28, bottom=44)
