"""The charts of the laptop challenge, drawn by Altair while the site is built. The rows come from act.py."""

from __future__ import annotations

from typing import Any, Literal

import altair as alt

from docs.acts.drawing import HATCH, INK, LIMIT, MEMORY, MUTED, SIZE, SURFACE, WIDTH, color, framed, place, rows, stage

COLORS = {part: MEMORY[part] for part in ("parameters", "gradients", "master", "optimizer", "activations", "buffers")}
LANES = {"guess": (9, 19), "stack": (23, 42), "textbook": (46, 54)}
"""Top and bottom of each bar on a stage 100 high: the prediction, all tensors, the textbook's count."""
NAMED = {"guess": "you", "stack": "exact", "textbook": "book ◇"}
LEGEND, LINE = 66, 6.8
FOOT = 61
"""Where the line of what there is ends, beside its name."""
LEFT = 54
"""Pixels for the bars' names."""
FLOORS = ["Arithmetic", "Stable training", "Adam"]
FORMATS = {"FP16": "var(--il-data)", "FP32": "var(--il-compute)"}


def memory() -> Any:
    """All tensors in one bar, the textbook's count under it; what is needed and what there is as lines across."""
    look: dict[str, Any] = {"tickCount": 5, "titleAlign": "right", "titleAnchor": "end", "titlePadding": 0}
    # No grid, which would run through the words below the bars.
    axis = alt.Axis(title="GB", orient="top", grid=False, ticks=True, **look)
    scale = alt.Scale(zero=True, nice=False)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", axis=axis, scale=scale)

    def lane(name: str) -> dict[str, Any]:
        top, bottom = LANES[name]
        return {"y": place(100 - top, alt.Y), "y2": alt.Y2Datum(100 - bottom)}

    def across(name: str, top: float, bottom: float) -> dict[str, Any]:
        return {"x": x(name), "y": place(100 - top, alt.Y), "y2": alt.Y2Datum(100 - bottom)}

    def bar(name: str, **style: Any) -> Any:
        return rows(name).mark_rect(**style).encode(x=x("from"), x2="to", **lane(name)).properties(name=name)

    over = alt.condition("datum.over", alt.value(LIMIT), alt.value(INK))
    stack = rows("stack").mark_rect(stroke=SURFACE, strokeWidth=1.5)
    stack = stack.encode(x=x("from"), x2="to", fill=color("part", COLORS), **lane("stack"))
    least = rows("floor").mark_rule(stroke=INK, strokeWidth=2)
    far = rows("gap").mark_rect(fill=INK).encode(x=x("from"), x2="to", y=place(81, alt.Y), y2=alt.Y2Datum(78.5))
    layers: list[Any] = [
        rows("frame").mark_point(stroke="transparent").encode(x=x("gb")),
        stack.properties(name="stack"),
        bar("textbook", fill="transparent", stroke=MUTED, strokeWidth=1.5),
        bar("guess", fill=HATCH, stroke=INK, strokeWidth=1.5, strokeDash=[4, 3]),
        rows("budget").mark_rule(stroke=SURFACE, strokeWidth=2).encode(**across("gb", 7, FOOT)),
        rows("budget").mark_rule(stroke=LIMIT, strokeWidth=2, strokeDash=[7, 4]).encode(**across("gb", 7, FOOT)),
        rows("budget_text")
        .mark_text(align="left", baseline="middle", dx=6, fontSize=SIZE, fill=LIMIT)
        .encode(x=x("gb"), y=place(100 - FOOT + 1.5, alt.Y), text="text:N"),
        rows("need").mark_rule(strokeWidth=3).encode(stroke=over, **across("gb", 21, 44)),
        least.encode(**across("gb", 7, 56)).properties(name="floor"),
        far.properties(name="gap"),
    ]
    for name, title in NAMED.items():
        text = alt.Chart(alt.InlineData(values=[{"text": title}])).mark_text(align="right", fontSize=SIZE, fill=INK)
        layers.append(text.encode(x=alt.value(-6), y=place(100 - sum(LANES[name]) / 2, alt.Y), text="text:N"))
    return framed(alt.layer(*layers, *_legend()), 300, left=LEFT, top=34, right=8)


def _legend() -> list[Any]:
    """Left a line per kind of tensor with its swatch; right what is needed, in red when it is too much."""
    lines = rows("lines").transform_calculate(y=f"{100 - LEGEND} - {LINE} * datum.row")
    name: dict[str, Any] = {"align": "left", "baseline": "middle", "fontSize": SIZE}
    over = alt.condition("datum.over", alt.value(LIMIT), alt.value(INK))
    end = WIDTH - LEFT - 8
    layers = [
        lines.mark_square(size=110, opacity=1).encode(
            x=alt.value(8 - LEFT), y=stage("y", alt.Y), fill=color("part", COLORS)
        ),
        lines.mark_text(**name, fill=INK).encode(x=alt.value(20 - LEFT), y=stage("y", alt.Y), text="text:N"),
    ]
    for row, data in enumerate(("need", "textbook", "guess", "floor", "gap")):
        heavy: Literal[600, 400] = 600 if data in ("need", "gap") else 400
        text = rows(data).mark_text(**{**name, "align": "right"}, fontWeight=heavy)
        ink: Any = over if data == "need" else alt.value(INK)
        at = {"x": alt.value(end), "y": place(100 - LEGEND - LINE * row, alt.Y)}
        named = text.encode(**at, text="text:N", fill=ink)
        layers.append(named.properties(name=f"{data}_text") if data in ("floor", "gap") else named)
    return layers


def _closed(name: str, x: float, y: float) -> Any:
    """Why there is nothing in the axes yet."""
    text = rows(name).mark_text(align="center", baseline="middle", fontSize=SIZE, fill=MUTED)
    return text.encode(x=alt.value(x), y=alt.value(y), text="text:N")


def floors() -> Any:
    """Static memory of each floor as a bar, what it needs as a line, against the laptop."""
    x = alt.X("static:Q", axis=alt.Axis(title="GB", tickCount=4), scale=alt.Scale(domain=[0, 42], nice=False))
    y = alt.Y(
        "floor:N", sort=FLOORS, scale=alt.Scale(domain=FLOORS), axis=alt.Axis(title=None, grid=False, minExtent=108)
    )
    bar = rows("floors").mark_bar(height=16, fill=MEMORY["parameters"])
    over = alt.condition("datum.over", alt.value(LIMIT), alt.value(INK))
    tick = rows("floors").mark_tick(thickness=2.5, size=26)
    # Right of the line of what there is too, where that is near.
    text = rows("floors").transform_calculate(at="datum.clear || datum.need")
    text = text.mark_text(align="left", dx=7, fontSize=SIZE, fill=INK)
    budget = alt.X("gb:Q", scale=alt.Scale(domain=[0, 42], nice=False))
    line = rows("budget").mark_rule(stroke=LIMIT, strokeWidth=2, strokeDash=[7, 4])
    named = rows("budget_text").mark_text(align="left", baseline="middle", fontSize=SIZE, fill=LIMIT, y=-10)
    layered = alt.layer(
        bar.encode(x=x, y=y),
        line.encode(x=budget),
        named.encode(x=budget, text="text:N"),
        tick.encode(x="need:Q", y=y, fill=over),
        text.encode(x="at:Q", y=y, text="text:N"),
        _closed("floors_closed", 120, 74),
    )
    return framed(layered, 216, left=112, top=24, bottom=44)


def weight() -> Any:
    """The same updates in FP16 and in FP32: one line stands still."""
    x = alt.X("step:Q", axis=alt.Axis(title="update", tickCount=5, grid=False), scale=alt.Scale(domain=[0, 1000]))
    y = alt.Y(
        "weight:Q",
        axis=alt.Axis(format=".5f", tickCount=4, minExtent=62, title="weight", titleAngle=0, titleX=-38, titleY=-12),
        scale=alt.Scale(domain=[0.0197, 0.0201], nice=False),
    )
    hue = alt.Color("format:N", scale=alt.Scale(domain=list(FORMATS), range=list(FORMATS.values())), legend=None)
    line = rows("weight").mark_line(strokeWidth=2.5).encode(x=x, y=y, stroke=hue)
    ends = rows("weight").transform_filter("datum.step == 500")
    text = ends.mark_text(align="left", dx=4, dy=-11, fontSize=SIZE, fontWeight=600).encode(
        x=x, y=y, text="format:N", fill=hue
    )
    return framed(alt.layer(line, text, _closed("weight_closed", 135, 70)), 206, left=64, right=18, top=24, bottom=44)
