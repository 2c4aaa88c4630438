"""The pictures of a plan, drawn by Altair while the site is built. The rows come from act.py."""

from __future__ import annotations

from typing import Any

import altair as alt

from docs.acts.drawing import INK, LIMIT, MEMORY, MUTED, SIZE, SURFACE, color, framed, rows

COLORS = {
    **{part: MEMORY[part] for part in ("parameters", "gradients", "optimizer", "activations")},
    "logits": "var(--il-compute)",
    "temporary": MEMORY["passing"],
    "other": MEMORY["driver"],
}
NAMES = {
    "parameters": "weights",
    "gradients": "gradients",
    "optimizer": "optimizer",
    "activations": "activations",
    "logits": "logits, loss",
    "temporary": "temporary",
    "other": "driver",
}


LEFT = 190
"""Pixels for the names of the moments."""
OUTLINE = "process"
"""The part that goes over all others: what the driver shows."""


def _x(field: str, **more: Any) -> alt.X:
    axis = alt.Axis(title="GB", titleAnchor="end", tickCount=5, grid=True)
    return alt.X(field, type="quantitative", scale=alt.Scale(zero=True, nice=False), axis=axis, **more)


def memory() -> Any:
    """One bar, part by part, the band of experience as a line under it, and what the card can give."""
    frame = rows("frame").mark_point(stroke="transparent").encode(x=_x("gb"))
    bar = (
        rows("bar")
        .mark_rect()
        .encode(x=_x("from"), x2="to", y=alt.value(22), y2=alt.value(64), fill=color("part", COLORS), tooltip="name:N")
    )
    band = rows("band").mark_rule(strokeWidth=3, stroke=INK).encode(x=_x("low"), x2="high", y=alt.value(73))
    line = rows("room").encode(x=_x("gb"), y=alt.value(14), y2=alt.value(82))
    # On a bar of its own lightness the dashes would be lost.
    around, room = (
        line.mark_rule(stroke=SURFACE, strokeWidth=4),
        line.mark_rule(stroke=LIMIT, strokeWidth=2, strokeDash=[7, 4]),
    )
    # The label stands on that side of the line on which there is room.
    label: dict[str, Any] = {"baseline": "bottom", "fontSize": SIZE, "fill": LIMIT}
    left = rows("room_right").mark_text(align="right", dx=6, **label)
    right = rows("room_left").mark_text(align="left", dx=-6, **label)
    texts = [one.encode(x=_x("gb"), y=alt.value(12), text="text:N") for one in (left, right)]
    return framed(
        alt.layer(frame, bar, band, around, room, *texts, *_legend(-52), *_band(122, -16)),
        208,
        left=8,
        right=14,
        top=60,
        bottom=44,
    )


def _legend(up: int, left: int = 0) -> list[Any]:
    """The names of the parts in rows of three, from `up` pixels on, which may be above the plot, and `left` of it."""
    made: list[Any] = []
    for index, (part, text) in enumerate(NAMES.items()):
        row, column = divmod(index, 3)
        one = alt.Chart(alt.InlineData(values=[{"text": text, "part": part}]))
        across, down = 6 - left + 116 * column, up + 18 * row
        place: dict[str, Any] = {"x": alt.value(across), "y": alt.value(down)}
        made.append(one.mark_square(size=90, opacity=1, clip=False).encode(**place, fill=color("part", COLORS)))
        made.append(_words(text, across + 10, down))
    return made


def _words(text: str, across: int, down: int, **look: Any) -> Any:
    one = alt.Chart(alt.InlineData(values=[{"text": text}]))
    look = {"align": "left", "baseline": "middle", "fontSize": SIZE, "fill": MUTED, **look}
    return one.mark_text(**look, clip=False).encode(x=alt.value(across), y=alt.value(down), text="text:N")


def _band(across: int, down: int) -> list[Any]:
    """What the line under the bar is."""
    one = alt.Chart(alt.InlineData(values=[{}]))
    stroke = one.mark_point(shape="stroke", size=120, strokeWidth=3, stroke=INK, opacity=1, clip=False)
    return [
        stroke.encode(x=alt.value(across), y=alt.value(down)),
        _words("the band", across + 10, down),
    ]


def moments() -> Any:
    """A bar for each phase and each moment of a step, stacked by part; the process as an outline; the card's line."""
    axis = alt.Axis(title=None, labelLimit=0, labelPadding=6, grid=False)
    y = alt.Y("said:N", sort=alt.SortField("at"), axis=axis, scale=alt.Scale(paddingInner=0.25))
    x = alt.X(
        "gb",
        type="quantitative",
        scale=alt.Scale(zero=True, nice=False),
        axis=alt.Axis(title="GB", titleAnchor="end", tickCount=4),
    )
    frame = rows("phase_frame").mark_point(stroke="transparent").encode(x=x)
    # One layer, so that its rows keep their order: the outline is a part without a color.
    parts = (
        rows("stack")
        .mark_bar()
        .encode(
            x=alt.X("from", type="quantitative"),
            x2="to",
            y=y,
            fill=color("part", {**COLORS, OUTLINE: "transparent"}),
            stroke=alt.condition(f"datum.part === '{OUTLINE}'", alt.value(INK), alt.value("transparent")),
        )
    )
    line = rows("room").encode(x=x)
    room = line.mark_rule(stroke=LIMIT, strokeWidth=2, strokeDash=[7, 4])
    key = (
        _words("□ reserved, not allocated", 122 - LEFT, -50),
        _words("▸ the fullest moment", 3 - LEFT, -32),
        _words("┆ what the card can give", 160 - LEFT, -32, fill=LIMIT),
    )
    return framed(
        alt.layer(frame, parts, line.mark_rule(stroke=SURFACE, strokeWidth=4), room, *_legend(-86, LEFT), *key),
        424,
        left=LEFT,
        right=14,
        top=102,
        bottom=44,
    )
