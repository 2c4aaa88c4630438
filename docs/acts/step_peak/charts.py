"""The picture of a step, drawn by Altair while the site is built. The rows come from act.py."""

from __future__ import annotations

from typing import Any

import altair as alt

from docs.acts.drawing import INK, LIMIT, MEMORY, MUTED, SIZE, SURFACE, color, framed, rows

MOMENTS = 31
COLORS = {part: MEMORY[part] for part in ("driver", "parameters", "gradients", "activations", "passing")}
NAMES = (("Driver", "driver"), ("Parameters", "parameters"), ("Gradients", "gradients"))
MORE = (("Activations", "activations"), ("Passing tensors", "passing"))


def step() -> Any:
    """A column for each moment, the card's line across, the highest moment named, the reader's moment as a line."""
    scale = alt.Scale(domain=[-0.5, MOMENTS - 0.5], nice=False)
    axis = alt.Axis(
        title=None,
        values=[0, 6.5, 13.5, 20.5, 29],
        labelExpr="{'0': '', '6.5': 'forward', '13.5': 'loss', '20.5': 'backward', '29': 'update'}[datum.value]",
        grid=False,
    )
    y_axis = alt.Axis(title="GB", titleAngle=0, titleAlign="left", titleX=-30, titleY=-8, tickCount=5, minExtent=34)

    def x(field: str) -> alt.X:
        return alt.X(field, type="quantitative", scale=scale, axis=axis)

    def y(field: str) -> alt.Y:
        return alt.Y(field, type="quantitative", scale=alt.Scale(zero=True, nice=False), axis=y_axis)

    frame = rows("frame").mark_point(stroke="transparent").encode(y=y("gb"))
    columns = rows("areas").transform_calculate(left="datum.at - 0.5", right="datum.at + 0.5").mark_rect()
    limit = rows("limit").mark_rule(stroke=LIMIT, strokeWidth=2, strokeDash=[7, 4])
    limit_text = rows("limit").mark_text(align="left", baseline="bottom", dy=-3, x=4, fontSize=SIZE, fill=LIMIT)
    peak = rows("peak").mark_text(align="center", baseline="bottom", dy=-12, fontSize=SIZE, fontWeight=600, fill=INK)
    playhead = rows("playhead").mark_rule(stroke=INK, strokeWidth=2)
    knob = rows("playhead").mark_circle(size=110, fill=INK, stroke=SURFACE, strokeWidth=2, opacity=1)
    return framed(
        alt.layer(
            frame,
            columns.encode(x=x("left"), x2="right", y=y("from"), y2="to", fill=color("part", COLORS)),
            limit.encode(y=y("gb")),
            limit_text.encode(y=y("gb"), text="text:N"),
            peak.encode(x=x("at"), y=y("gb"), text="text:N"),
            playhead.encode(x=x("at"), y=y("gb"), y2=alt.Y2Datum(0)),
            knob.encode(x=x("at"), y=y("gb")).properties(name="playhead"),
            *_legend(),
        ),
        300,
        left=38,
        right=8,
        top=64,
        bottom=30,
    )


def _legend() -> list[Any]:
    """The names of the parts in two rows above the plot."""
    made: list[Any] = []
    for row, names in enumerate((NAMES, MORE)):
        for column, (text, part) in enumerate(names):
            one = alt.Chart(alt.InlineData(values=[{"text": text, "part": part}]))
            left, up = 2 + 104 * column + (30 * column * row), -50 + 19 * row
            place: dict[str, Any] = {"x": alt.value(left), "y": alt.value(up)}
            made.append(one.mark_square(size=100, opacity=1, clip=False).encode(**place, fill=color("part", COLORS)))
            place = {"x": alt.value(left + 10), "y": alt.value(up)}
            words = one.mark_text(align="left", baseline="middle", fontSize=SIZE, fill=MUTED, clip=False)
            made.append(words.encode(**place, text="text:N"))
    return made
