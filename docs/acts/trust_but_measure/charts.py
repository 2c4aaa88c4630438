"""The charts of Act 3, drawn by Altair while the site is built. The rows come from act.py."""

from __future__ import annotations

from typing import Any

import altair as alt

from docs.acts.drawing import HATCH, INK, MUTED, SIZE, SURFACE, color, framed, place, rows, stage

KINDS = {
    "counted": MUTED,
    "residual": "var(--il-memory)",
    "norms": "var(--il-memory-2)",
    "gelu": "var(--il-activation)",
    "scores": "var(--il-memory-3)",
    "loss": "var(--il-optimizer)",
    "rest": "var(--il-control)",
}
LANES = ("guess", "book", "engine", "measured")
"""From top to bottom: the prediction, the textbook, the engine with the kinds of tensors, the measurement."""
TOP, LANE, LINE = 12, 64, 18
"""Pixels: the first bar's middle, from lane to lane, from a lane's text to its bar."""


def count() -> Any:
    """Four lanes: a line of text and a bar each; an open diamond for the textbook, a dot for what was measured."""
    height = TOP + LANE * len(LANES)

    def lane(name: str) -> dict[str, Any]:
        middle = height - (TOP + LINE + LANE * LANES.index(name))
        return {"y": place(middle + 10, alt.Y, height), "y2": alt.Y2Datum(middle - 10)}

    def middle(name: str) -> Any:
        return place(height - (TOP + LINE + LANE * LANES.index(name)), alt.Y, height)

    x: dict[str, Any] = {"x": stage("from", alt.X), "x2": "to"}
    texts = rows("values").transform_calculate(y=f"{height - TOP + 4} - {LANE} * datum.row")
    layers: list[Any] = [
        rows("guess")
        .mark_rect(fill=HATCH, stroke=INK, strokeDash=[4, 3], strokeWidth=1.5)
        .encode(**x, **lane("guess")),
        rows("book").mark_rect(fill="transparent", stroke=MUTED, strokeWidth=1.5).encode(**x, **lane("book")),
        rows("book")
        .mark_point(shape="diamond", size=110, strokeWidth=2, stroke=INK, fill=SURFACE, opacity=1)
        .encode(x=stage("to", alt.X), y=middle("book")),
        rows("parts")
        .mark_rect(stroke=SURFACE, strokeWidth=1.5)
        .encode(**x, **lane("engine"), fill=color("kind", KINDS)),
        rows("dots").mark_circle(size=130, fill=INK, opacity=1).encode(x=stage("at", alt.X), y=middle("measured")),
        texts.mark_text(align="left", baseline="bottom", fontSize=SIZE, fill=INK).encode(
            x=place(0, alt.X), y=stage("y", alt.Y, height), text="text:N"
        ),
    ]
    return framed(alt.layer(*layers), height + 8)


def tensors() -> Any:
    """A bar per kind of tensor with its name above; what the textbook counts is gray."""
    order = alt.EncodingSortField("share", order="descending")
    y = alt.Y("kind:N", sort=order, axis=None, scale=alt.Scale(domain=list(KINDS), paddingInner=0.2))
    x = alt.X("share:Q", axis=None, scale=alt.Scale(domain=[0, 100]))
    bar = rows("kinds").mark_bar(size=12, yOffset=8)
    name = rows("kinds").mark_text(align="left", baseline="middle", dy=-7, fontSize=SIZE, fill=INK, x=0)
    amount = rows("kinds").mark_text(align="left", baseline="middle", dy=9, dx=6, fontSize=SIZE, fill=INK)
    return framed(
        alt.layer(
            bar.encode(x=x, y=y, fill=color("kind", KINDS)),
            name.encode(y=y, text="title:N"),
            amount.encode(x=x, y=y, text="text:N"),
        ),
        300,
    )
