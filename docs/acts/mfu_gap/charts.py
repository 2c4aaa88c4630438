"""The charts of Act 3, drawn by Altair while the site is built. The rows come from act.py, at build and in the page."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

from docs.acts.drawing import (
    HATCH,
    INK,
    LIMIT,
    MEMORY,
    MUTED,
    PARTS,
    SIZE,
    SURFACE,
    WIDTH,
    color,
    finish,
    framed,
    place,
    rows,
    stage,
)

LANES = {"you": (1, 13), "now": (17, 41), "start": (50, 57)}
"""Top and bottom of each bar on a stage 100 high: the prediction, the reader's setting, the first profile."""
LEGEND, LINE = 68, 9.2
LABEL = 28
"""Percent of the width that the prediction's label needs."""
GAUGES = {"utilization": "Compute share", "mfu": "MFU"}
TARGET = 50
CURVES = {"utilization": "var(--il-compute)", "mfu": INK, "fed": MUTED}
WAYS = {"sequential": "One after the other", "overlapped": "In advance"}
ROWS = {"load": "load", "copy": "memory", "gpu": "compute"}


def iteration() -> Any:
    """One iteration as a stacked bar, the first profile under it, the reader's prediction over it."""
    layers: list[Any] = []
    for lane in ("now", "start"):
        bars = rows("lanes").transform_filter(f"datum.lane == '{lane}'")
        at = {"y": place(100 - LANES[lane][0], alt.Y), "y2": alt.Y2Datum(100 - LANES[lane][1])}
        x = {"x": stage("from", alt.X), "x2": "to"}
        bar = bars.mark_rect(stroke=SURFACE, strokeWidth=1.5).encode(fill=color("part", PARTS), **x, **at)
        layers.append(bar.properties(name=lane))
        again = bars.transform_filter("datum.part == 'recompute'")
        layers.append(again.mark_rect(fill=HATCH, stroke=SURFACE, strokeWidth=1.5).encode(**x, **at))
    edges = {"y": place(100 - LANES["you"][0], alt.Y), "y2": alt.Y2Datum(100 - LANES["you"][1])}
    guess = rows("guess").mark_rect(fill=HATCH, stroke=INK, strokeWidth=1.5, strokeDash=[4, 3])
    # Beside the outline while there is room for it, else inside, on a pale ground that the hatching does not cross.
    beside = rows("guess").transform_filter(f"datum.from >= {LABEL}").mark_text(align="right", dx=-5, fontSize=SIZE)
    inside = rows("guess").transform_filter(f"datum.from < {LABEL}")
    words: dict[str, Any] = {"align": "left", "dx": 8, "fontSize": SIZE}
    ground = inside.mark_text(**words, stroke=SURFACE, strokeWidth=7, strokeJoin="round")
    note = rows("notes").mark_text(align="left", baseline="middle", fontSize=SIZE - 1, fill=MUTED)
    layers += [
        guess.encode(x=stage("from", alt.X), x2="to", **edges).properties(name="guess"),
        *(
            text.encode(x=stage("from", alt.X), y=place(100 - 7, alt.Y), text="text:N", fill=alt.value(INK))
            for text in (beside, ground, inside.mark_text(**words))
        ),
        note.encode(x=place(0, alt.X), y=place(100 - 46, alt.Y), text="text:N").properties(name="notes"),
    ]
    between = {"y": place(100 - LANES["you"][1] - 0.5, alt.Y), "y2": alt.Y2Datum(100 - LANES["now"][0] + 0.5)}
    gap = rows("gap").mark_rect(fill=INK).encode(x=stage("from", alt.X), x2="to", **between)
    far = rows("gap").mark_text(align="right", baseline="middle", fontSize=SIZE, fontWeight=600, fill=INK)
    layers += [
        gap.properties(name="gap"),
        far.encode(x=place(100, alt.X), y=place(100 - 46, alt.Y), text="text:N").properties(name="gap_text"),
    ]
    return framed(alt.layer(*layers, *_legend()), 262)


def _legend() -> list[Any]:
    """A line of text per segment with a swatch: names and numbers stand where they can be read."""
    lines = rows("legend").transform_calculate(y=f"{100 - LEGEND} - {LINE} * datum.row")
    swatch = (
        lines.mark_square(size=120, opacity=1)
        .encode(x=place(2, alt.X), y=stage("y", alt.Y), fill=color("part", PARTS))
        .properties(name="swatches")
    )
    again = lines.transform_filter("datum.part == 'recompute'").mark_square(size=120, opacity=1, fill=HATCH)
    text = lines.mark_text(align="left", baseline="middle", fontSize=SIZE, fill=INK)
    return [
        swatch,
        again.encode(x=place(2, alt.X), y=stage("y", alt.Y)),
        text.encode(x=place(6, alt.X), y=stage("y", alt.Y), text="text:N").properties(name="legend"),
    ]


def memory() -> Any:
    """What the step needs at its fullest, by kind, against what the device can give."""
    scale = alt.Scale(zero=True, nice=False)
    axis = alt.Axis(title="GB", tickCount=5, titleAlign="right", titleAnchor="end")
    kinds = {"static": MEMORY["optimizer"], "kept": MEMORY["activations"]}
    lane = {"y": place(78, alt.Y), "y2": alt.Y2Datum(22)}

    def x(field: str) -> alt.X:
        return alt.X(field, type="quantitative", axis=axis, scale=scale)

    bars = rows("memory").mark_rect(stroke=SURFACE, strokeWidth=1.5)
    # Over the plot, where no line of the axis goes through the words.
    lines = rows("memory").transform_calculate(y="168 - 26 * datum.row")
    limit = rows("room").mark_rule(stroke=LIMIT, strokeWidth=2, strokeDash=[7, 4])
    words: dict[str, Any] = {"align": "left", "baseline": "middle", "fontSize": SIZE}
    layers: list[Any] = [
        rows("frame").mark_point(stroke="transparent").encode(x=x("gb")),
        bars.encode(x=x("from"), x2="to", fill=color("kind", kinds), **lane),
        limit.encode(x=x("gb"), y=place(92, alt.Y), y2=alt.Y2Datum(8)),
        rows("room")
        .mark_text(align="center", baseline="middle", fontSize=SIZE, fill=LIMIT)
        .encode(x=x("gb"), y=place(110, alt.Y), text="text:N"),
        lines.mark_square(size=110, opacity=1).encode(x=alt.value(6), y=stage("y", alt.Y), fill=color("kind", kinds)),
        lines.mark_text(**words, fill=INK).encode(x=alt.value(18), y=stage("y", alt.Y), text="text:N"),
    ]
    return framed(alt.layer(*layers), 170, left=8, right=44, top=60, bottom=44)


def gauges() -> Any:
    """Two semicircles from 0 to 100 percent; the first has the target as a tick."""
    pair = alt.hconcat(*(_gauge(name, title) for name, title in GAUGES.items()), spacing=28)
    return finish(pair)


def _gauge(name: str, title: str) -> Any:
    """A half ring, filled clockwise from the left; angles are radians from the top."""
    middle, radius, half = 80, 72, math.pi / 2
    ring: Any = {"innerRadius": radius - 22, "outerRadius": radius, "y": middle}
    ends = {"theta": alt.Theta("from:Q", scale=None, stack=None), "theta2": alt.Theta2("to:Q")}
    value = rows("gauges").transform_filter(f"datum.gauge == '{name}'")
    filled = value.transform_calculate(**{"from": f"{-half}", "to": f"{-half} + datum.value / 100 * {math.pi}"})
    whole, word = _constant({"from": -half, "to": half}), _constant({"text": title})
    number = value.mark_text(fontSize=24, fontWeight=600, fill=INK, y=middle - 8, baseline="bottom")
    layers: list[Any] = [
        whole.mark_arc(fill="var(--il-border)", **ring).encode(**ends),
        filled.mark_arc(fill=CURVES[name], **ring).encode(**ends),
        number.encode(text="text:N"),
        word.mark_text(fontSize=SIZE, fill=MUTED, y=middle + 12).encode(text="text:N"),
    ]
    if name == "mfu":
        at = -half + TARGET / 100 * math.pi
        tick = _constant({"from": at - 0.012, "to": at + 0.012})
        mark: Any = {"innerRadius": radius - 26, "outerRadius": radius + 6, "y": middle}
        layers.append(tick.mark_arc(fill=INK, **mark).encode(**ends))
        label = _constant({"text": f"{TARGET}"}).mark_text(fontSize=SIZE - 1, fill=INK, x=98, y=6)
        layers.append(label.encode(text="text:N"))
    return alt.layer(*layers).properties(width=162, height=middle + 20)


def _constant(row: dict[str, Any]) -> Any:
    return alt.Chart(alt.InlineData(values=[row]))


def batch() -> Any:
    """Utilization, MFU and the source's rule over the batch; hollow where the step does not fit."""
    sizes = alt.Scale(domain=["16", "32", "64", "128", "256"])
    x = alt.X("batch:N", sort=None, scale=sizes, axis=alt.Axis(title="batch size", labelAngle=0, grid=False))
    y = alt.Y(
        "share:Q",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(title=None, labelExpr="datum.label + ' %'", minExtent=52),
    )
    hue = alt.Color("gauge:N", scale=alt.Scale(domain=list(CURVES), range=list(CURVES.values())), legend=None)
    line = rows("curve").mark_line(strokeWidth=2).encode(x=x, y=y, stroke=hue)
    dot = rows("curve").transform_filter("datum.gauge != 'fed'").mark_point(size=60, strokeWidth=2, opacity=1)
    hollow = alt.condition("datum.fits", hue, alt.value(SURFACE))
    ring = alt.condition("datum.fits", hue, alt.value(LIMIT))
    here = (
        rows("curve")
        .transform_filter("datum.current && datum.gauge != 'fed'")
        .mark_point(size=220, strokeWidth=1.5, stroke=INK)
    )
    claim = rows("claims").mark_point(shape="diamond", size=90, strokeWidth=2, stroke=INK, fill="transparent")
    goal = _constant({"share": TARGET, "text": f"target {TARGET} %"})
    too_large = _constant({"text": "the step does not fit into memory"})
    return framed(
        alt.layer(
            goal.mark_rule(stroke=INK, strokeDash=[2, 3]).encode(y=y),
            goal.mark_text(align="left", baseline="middle", fontSize=SIZE - 1, fill=MUTED, x="width", dx=4).encode(
                y=y, text="text:N"
            ),
            too_large.mark_point(size=60, strokeWidth=2, stroke=LIMIT, fill=SURFACE, opacity=1, x=4, y=-16),
            too_large.mark_text(align="left", baseline="middle", fontSize=SIZE - 1, fill=MUTED, x=14, y=-16).encode(
                text="text:N"
            ),
            line,
            dot.encode(x=x, y=y, fill=hollow, stroke=ring),
            here.encode(x=x, y=y),
            claim.encode(x=x, y=y),
            rows("names").mark_text(align="left", dx=10, fontSize=SIZE - 1, fill=INK).encode(x=x, y=y, text="text:N"),
        ),
        270,
        left=52,
        right=86,
        top=28,
        bottom=44,
    )


def overlap() -> Any:
    """Three steps as a timeline, fetched one after the other and in advance, on one clock."""
    panels = []
    for way, title in WAYS.items():
        spans = rows("spans").transform_filter(f"datum.way == '{way}'")
        spans = spans.transform_calculate(lane=f"{ROWS}[datum.lane]".replace("'", '"'))
        last = way == "overlapped"
        axis = alt.Axis(title="s" if last else None, labels=last, tickCount=4, labelBound=True)
        x = alt.X("from:Q", axis=axis, scale=alt.Scale(zero=True, nice=False))
        frame = rows("clock").mark_point(stroke="transparent").encode(x=x)
        y = alt.Y(
            "lane:N",
            sort=list(ROWS.values()),
            scale=alt.Scale(domain=list(ROWS.values())),
            axis=alt.Axis(title=None, minExtent=64),
        )
        box = spans.mark_bar(height=20, stroke=SURFACE, strokeWidth=1)
        again = spans.transform_filter("datum.part == 'recompute'").mark_bar(height=20, fill=HATCH)
        panels.append(
            alt.layer(
                frame, box.encode(x=x, x2="to:Q", y=y, fill=color("part", PARTS)), again.encode(x=x, x2="to:Q", y=y)
            ).properties(
                width=WIDTH - 60, height=84, title=alt.Title(title, anchor="start", fontSize=SIZE, fontWeight="normal")
            )
        )
    return finish(alt.vconcat(*panels, spacing=10).resolve_scale(x="shared"))
