"""The charts of Act 2, drawn by Altair while the site is built. The rows come from act.py."""

from __future__ import annotations

from typing import Any

import altair as alt

from docs.acts.drawing import HATCH, INK, MUTED, SIZE, SURFACE, color, framed, place, rows, stage

KINDS = {
    "counted": MUTED,
    **dict.fromkeys(("residual", "norms", "gelu", "scores", "loss", "rest"), "var(--il-activation)"),
}
"""All are activations; gray are those that the textbook counts."""
ROW, HEAD = 29, 24
"""Pixels: from box to box, and above the first for the columns' names."""
ROWS = 6
LANE = 40
HEIGHT = HEAD + ROW * ROWS + 3 * LANE + 6


def block() -> Any:
    """The boxes of a block, which can be tapped, and under them their sums: the reader's bar and PyTorch's.

    At a box's left edge stands what the reader says, hatched, and beside it what PyTorch keeps.
    """
    top = f"({HEAD} + {ROW} * datum.row)"
    at = {
        "left": "51 * datum.column",
        "right": "51 * datum.column + 49",
        "high": f"{HEIGHT} - {top}",
        "low": f"{HEIGHT} - {top} - {ROW - 5}",
        "middle": f"{HEIGHT} - {top} - {(ROW - 5) / 2}",
        "yours": "51 * datum.column + 4",
        "theirs": "51 * datum.column + 8",
        "words": "51 * datum.column + 10",
    }

    def laid(name: str) -> Any:
        return rows(name).transform_calculate(**at)

    def box(source: str, left: str, right: str, **look: Any) -> Any:
        return (
            laid(source)
            .mark_rect(**look)
            .encode(x=stage(left, alt.X), x2=right, y=stage("low", alt.Y, HEIGHT), y2="high")
        )

    def words(source: str, x: str, text: str, **look: Any) -> Any:
        mark = laid(source).mark_text(baseline="middle", fontSize=SIZE, fill=INK, **look)
        return mark.encode(x=stage(x, alt.X), y=stage("middle", alt.Y, HEIGHT), text=text)

    tapped = box("boxes", "left", "yours", fill=HATCH).transform_filter("datum.tapped")
    heads = (
        rows("heads")
        .transform_calculate(left="51 * datum.column")
        .mark_text(align="left", baseline="middle", fontSize=SIZE, fontWeight=600, fill=INK)
        .encode(x=stage("left", alt.X), y=place(HEIGHT - HEAD / 2 + 2, alt.Y, HEIGHT), text="text:N")
    )
    layers: list[Any] = [
        heads,
        tapped,
        box("kept", "yours", "theirs", fill="var(--il-activation)").properties(name="kept"),
        words("boxes", "words", "label:N", align="left"),
        words("boxes", "right", "text:N", align="right", dx=-6),
        rows("marks")
        .transform_calculate(y=f"{HEIGHT - HEAD - ROW * 5.2} - 14 * datum.line")
        .mark_text(align="left", baseline="middle", fontSize=SIZE - 1, fill=MUTED)
        .encode(x=place(53, alt.X), y=stage("y", alt.Y, HEIGHT), text="text:N")
        .properties(name="marks"),
        words("judged", "right", "text:N", align="right", dx=-6).properties(name="judged"),
        # On top and transparent, so that a tap anywhere on the box reaches it.
        box("boxes", "left", "right", fill="transparent", stroke=INK, strokeWidth=1, cursor="pointer").properties(
            name="boxes"
        ),
        *_counts(),
    ]
    return framed(alt.layer(*layers), HEIGHT + 16)


def _counts() -> list[Any]:
    """The reader's bar, PyTorch's with a dot for what was measured, the gap, and the textbook's mark."""

    def line(lane: int) -> float:
        return HEIGHT - HEAD - ROW * ROWS - 12 - LANE * lane

    def bar(lane: int) -> dict[str, Any]:
        return {
            "x": stage("from", alt.X),
            "x2": "to",
            "y": place(line(lane) - 24, alt.Y, HEIGHT),
            "y2": alt.Y2Datum(line(lane) - 10),
        }

    def said(source: str, lane: int, x: Any, **look: Any) -> Any:
        mark = rows(source).mark_text(baseline="middle", fontSize=SIZE, fill=INK, **look)
        return mark.encode(x=x, y=place(line(lane), alt.Y, HEIGHT), text="text:N")

    middle = {"y": place(line(1) - 17, alt.Y, HEIGHT)}
    hatched = rows("guess").mark_rect(fill=HATCH, stroke=INK, strokeDash=[4, 3], strokeWidth=1.5)
    gap = rows("gap").mark_rule(stroke=INK, strokeWidth=1.5)
    diamond = rows("book").mark_point(shape="diamond", size=110, strokeWidth=2, stroke=INK, fill=SURFACE, opacity=1)
    # All that could be tapped, for the reader's bar to fill, while nothing else is told.
    track = {**bar(0), "x": place(0, alt.X), "x2": alt.X2Datum(100)}
    return [
        rows("waiting").mark_rect(fill="transparent", stroke="var(--il-border)").encode(**track),
        said("waiting", 1, place(0, alt.X), align="left"),
        hatched.encode(**bar(0)),
        said("guess", 0, place(0, alt.X), align="left"),
        rows("engine").mark_rect(fill="var(--il-activation)").encode(**bar(1)).properties(name="engine"),
        rows("dots")
        .mark_circle(size=110, fill=INK, stroke=SURFACE, opacity=1)
        .encode(x=stage("at", alt.X), **middle)
        .properties(name="dots"),
        said("engine", 1, place(0, alt.X), align="left").properties(name="engine_text"),
        gap.encode(x=stage("from", alt.X), x2="to", y=place(line(0) - 17, alt.Y, HEIGHT)).properties(name="gap"),
        said("gap", 0, place(100, alt.X), align="right", fontWeight=600).properties(name="gap_text"),
        diamond.encode(x=stage("at", alt.X), y=place(line(2) - 17, alt.Y, HEIGHT)).properties(name="book"),
        said("book", 2, place(0, alt.X), align="left").properties(name="book_text"),
    ]


def tensors() -> Any:
    """A bar per kind of tensor with its name above; what the textbook counts is gray."""
    # In the order of the rows. A kind that a setting does not have leaves no hole.
    y = alt.Y("kind:N", sort=None, axis=None, scale=alt.Scale(paddingInner=0.2))
    x = alt.X("share:Q", axis=None, scale=alt.Scale(domain=[0, 100]))
    bar = rows("kinds").mark_bar(size=12, yOffset=8)
    name = rows("kinds").mark_text(align="left", baseline="middle", dy=-7, fontSize=SIZE, fill=INK, x=0)
    amount = rows("kinds").mark_text(align="left", baseline="middle", dy=9, dx=6, fontSize=SIZE, fill=INK)
    closed = rows("closed").mark_text(fontSize=SIZE, fill=MUTED, x="width", y="height", dx=-172, dy=-150)
    return framed(
        alt.layer(
            closed.encode(text="text:N"),
            bar.encode(x=x, y=y, fill=color("kind", KINDS)),
            name.encode(y=y, text="title:N"),
            amount.encode(x=x, y=y, text="text:N"),
        ),
        300,
    )
