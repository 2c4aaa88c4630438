"""The charts of the laptop challenge, drawn by Altair while the site is built. The rows come from act.py."""

from __future__ import annotations

from typing import Any, Literal

import altair as alt

from docs.acts.drawing import HATCH, INK, LIMIT, MUTED, SIZE, SURFACE, WIDTH, color, finish, framed, rows

COLORS = {
    "parameters": "var(--il-memory)",
    "gradients": "var(--il-memory-2)",
    "master": "var(--il-memory-3)",
    "optimizer": "var(--il-optimizer)",
    "activations": "var(--il-activation)",
    "buffers": "var(--il-control)",
}
LANES = {"guess": "you", "stack": "exact", "textbook": "book ◇"}
LINE = 16.5
"""Pixels from one line of the legend to the next."""
FLOORS = ["Arithmetic", "Stable training", "Adam"]
FORMATS = {"FP16": LIMIT, "FP32": "var(--il-compute)"}


def memory() -> Any:
    """All tensors in one bar, the textbook's count under it; what is needed and what there is as lines across."""
    axis = alt.Axis(title="GB", tickCount=5, titleAlign="right", titleAnchor="end", titlePadding=0)
    scale = alt.Scale(zero=True, nice=False)
    lanes = alt.Scale(domain=list(LANES.values()), paddingInner=0.35, paddingOuter=0.15)
    labels = alt.Axis(title=None, grid=False, labelColor=INK, minExtent=54)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", axis=axis, scale=scale)

    def bar(name: str, **style: Any) -> Any:
        at = {"y": alt.Y("lane:N", scale=lanes, axis=labels), "x": x("from"), "x2": "to"}
        return rows(name).transform_calculate(lane=f"'{LANES[name]}'").mark_bar(**style).encode(**at)

    frame = rows("frame").mark_point(stroke="transparent").encode(x=x("gb"))
    over = alt.condition("datum.over", alt.value(LIMIT), alt.value(INK))
    needed = rows("need").transform_calculate(lane=f"'{LANES['stack']}'").mark_tick(thickness=3, size=42, opacity=1)
    bars = alt.layer(
        frame,
        bar("stack", stroke=SURFACE, strokeWidth=1.5, size=34).encode(fill=color("part", COLORS)),
        bar("textbook", fill="transparent", stroke=MUTED, strokeWidth=1.5, size=18),
        bar("guess", fill=HATCH, stroke=INK, strokeWidth=1.5, strokeDash=[4, 3], size=18),
        rows("budget").mark_rule(stroke=SURFACE, strokeWidth=2).encode(x=x("gb")),
        rows("budget").mark_rule(stroke=LIMIT, strokeWidth=2, strokeDash=[7, 4]).encode(x=x("gb")),
        needed.encode(x=x("gb"), y=alt.Y("lane:N", scale=lanes, axis=labels), fill=over),
    ).properties(width=WIDTH - 56, height=124)
    return finish(alt.vconcat(bars, _legend(), spacing=14))


def _legend() -> Any:
    """Left a line per kind of tensor with its swatch; right what is needed, in red when it is too much."""
    height = 6 * LINE
    across = alt.Scale(domain=[0, 100], nice=False)
    down = alt.Scale(domain=[0, height], nice=False, reverse=True)

    def at(column: float) -> dict[str, Any]:
        x = alt.X(datum=column, type="quantitative", axis=None, scale=across)
        return {"x": x, "y": alt.Y("y:Q", axis=None, scale=down)}

    lines = rows("lines").transform_calculate(y=f"{LINE} * (datum.row + 0.5)")
    name: dict[str, Any] = {"align": "left", "baseline": "middle", "fontSize": SIZE}
    over = alt.condition("datum.over", alt.value(LIMIT), alt.value(INK))
    values = []
    for row, data in enumerate(("need", "textbook", "guess")):
        placed = rows(data).transform_calculate(y=f"{LINE} * {row + 0.5}")
        heavy: Literal[600, 400] = 600 if data == "need" else 400
        values.append(placed.mark_text(**{**name, "align": "right"}, fontWeight=heavy))
    return alt.layer(
        lines.mark_square(size=110, opacity=1).encode(**at(-13), fill=color("part", COLORS)),
        lines.mark_text(**name, fill=INK).encode(**at(-8), text="text:N"),
        values[0].encode(**at(100), text="text:N", fill=over),
        *(value.encode(**at(100), text="text:N", fill=alt.value(INK)) for value in values[1:]),
    ).properties(width=WIDTH - 56, height=height)


def floors() -> Any:
    """Static memory of each floor as a bar, what it needs as a line, against the laptop."""
    x = alt.X("static:Q", axis=alt.Axis(title="GB", tickCount=4), scale=alt.Scale(domain=[0, 42], nice=False))
    y = alt.Y(
        "floor:N", sort=FLOORS, scale=alt.Scale(domain=FLOORS), axis=alt.Axis(title=None, grid=False, minExtent=108)
    )
    bar = rows("floors").mark_bar(height=16, fill="var(--il-memory)")
    over = alt.condition("datum.over", alt.value(LIMIT), alt.value(INK))
    tick = rows("floors").mark_tick(thickness=2.5, size=26)
    text = rows("floors").mark_text(align="left", dx=7, fontSize=SIZE, fill=INK)
    line = rows("budget").mark_rule(stroke=LIMIT, strokeWidth=2, strokeDash=[7, 4])
    layered = alt.layer(
        bar.encode(x=x, y=y),
        line.encode(x=alt.X("gb:Q", scale=alt.Scale(domain=[0, 42], nice=False))),
        tick.encode(x="need:Q", y=y, fill=over),
        text.encode(x="need:Q", y=y, text="text:N"),
    )
    return framed(layered, 200, left=112, bottom=44)


def weight() -> Any:
    """The same updates in FP16 and in FP32: one line stands still."""
    x = alt.X("step:Q", axis=alt.Axis(title="update", tickCount=5, grid=False), scale=alt.Scale(domain=[0, 1000]))
    y = alt.Y(
        "weight:Q",
        axis=alt.Axis(title=None, format=".5f", tickCount=4, minExtent=62),
        scale=alt.Scale(domain=[0.0197, 0.0201], nice=False),
    )
    hue = alt.Color("format:N", scale=alt.Scale(domain=list(FORMATS), range=list(FORMATS.values())), legend=None)
    line = rows("weight").mark_line(strokeWidth=2.5).encode(x=x, y=y, stroke=hue)
    ends = rows("weight").transform_filter("datum.step == 500")
    text = ends.mark_text(align="left", dx=4, dy=-11, fontSize=SIZE, fontWeight=600).encode(
        x=x, y=y, text="format:N", fill=hue
    )
    return framed(alt.layer(line, text), 190, left=64, right=18, bottom=44)
