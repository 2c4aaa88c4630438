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
        .encode(x=_x("from"), x2="to", y=alt.value(50), y2=alt.value(92), fill=color("part", COLORS), tooltip="name:N")
    )
    band = rows("band").mark_rule(strokeWidth=3, stroke=INK).encode(x=_x("low"), x2="high", y=alt.value(101))
    line = rows("room").encode(x=_x("gb"), y=alt.value(42), y2=alt.value(110))
    # On a bar of its own lightness the dashes would be lost.
    around, room = (
        line.mark_rule(stroke=SURFACE, strokeWidth=4),
        line.mark_rule(stroke=LIMIT, strokeWidth=2, strokeDash=[7, 4]),
    )
    # The label stands on that side of the line on which there is room.
    label: dict[str, Any] = {"baseline": "bottom", "fontSize": SIZE, "fill": LIMIT}
    left = rows("room_right").mark_text(align="right", dx=6, **label)
    right = rows("room_left").mark_text(align="left", dx=-6, **label)
    texts = [one.encode(x=_x("gb"), y=alt.value(40), text="text:N") for one in (left, right)]
    return framed(
        alt.layer(frame, bar, band, around, room, *texts, *_legend()), 190, left=8, right=14, top=14, bottom=44
    )


def _legend() -> list[Any]:
    """The names of the parts, in two rows above the bar, and of the line under it."""
    made: list[Any] = []
    for index, (part, text) in enumerate(NAMES.items()):
        row, column = divmod(index, 4)
        left, up = 4 + 84 * column, -4 + 18 * row
        one = alt.Chart(alt.InlineData(values=[{"text": text, "part": part}]))
        place: dict[str, Any] = {"x": alt.value(left), "y": alt.value(up)}
        made.append(one.mark_square(size=90, opacity=1, clip=False).encode(**place, fill=color("part", COLORS)))
        place = {"x": alt.value(left + 9), "y": alt.value(up)}
        words = one.mark_text(align="left", baseline="middle", fontSize=SIZE, fill=MUTED, clip=False)
        made.append(words.encode(**place, text="text:N"))
    row, column = divmod(len(NAMES), 4)
    place = {"x": alt.value(4 + 84 * column), "y": alt.value(-4 + 18 * row)}
    one = alt.Chart(alt.InlineData(values=[{"text": "the band"}]))
    stroke = one.mark_point(shape="stroke", size=120, strokeWidth=3, stroke=INK, opacity=1, clip=False)
    words = one.mark_text(align="left", baseline="middle", dx=9, fontSize=SIZE, fill=MUTED, clip=False)
    return [*made, stroke.encode(**place), words.encode(**place, text="text:N")]


def _key() -> list[Any]:
    """What the mark at a name and the white end of a bar are."""
    made: list[Any] = []
    for left, text in ((-184, "▸ the fullest moment"), (-38, "□ reserved, not allocated")):
        one = alt.Chart(alt.InlineData(values=[{"text": text}]))
        words = one.mark_text(align="left", baseline="middle", fontSize=SIZE, fill=MUTED, clip=False)
        made.append(words.encode(x=alt.value(left), y=alt.value(-14), text="text:N"))
    return made


def moments() -> Any:
    """A bar for each phase and each moment of a step, stacked by part; the process as an outline; the card's line."""
    axis = alt.Axis(title=None, labelLimit=0, grid=False)
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
    return framed(
        alt.layer(frame, parts, line.mark_rule(stroke=SURFACE, strokeWidth=4), room, *_key()),
        350,
        left=190,
        right=14,
        top=28,
        bottom=44,
    )
