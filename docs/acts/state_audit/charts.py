"""The charts of part 1: what was asked, and the memory waterfall. Drawn while the site is built."""

from __future__ import annotations

from typing import Any

import altair as alt

from docs.acts.drawing import HATCH, INK, LIMIT, MEMORY, SIZE, SURFACE, WIDTH, color, framed, place, rows, stage
from docs.acts.missions.tracks import track_of

PARTS = {
    "weights": MEMORY["parameters"],
    **{part: MEMORY[part] for part in ("gradients", "master", "optimizer", "activations")},
    "gathered": MEMORY["buffers"],
    "temporary": MEMORY["passing"],
    "driver": "var(--il-muted)",
    "gone": HATCH,
    "need": INK,
}
ROWS = {"cloud": 10}
"""Lines that a track's waterfall has room for: its parts, what is gone at the peak, what is needed."""
MOST_ROWS = 8
"""Lines of the waterfall of every other track."""
LINE = 33
"""Pixels for a line."""
NAMES = 166
"""Pixels for the parts' names and sizes."""


def each(track: str) -> Any:
    """The reader's bar, and under it what the question is about, part by part, from 0 to the largest prediction."""
    audit = track_of(track).audit
    unit, top = audit.ask.share[0] if audit.ask.share else audit.unit[0], audit.ask.top
    axis = alt.Axis(title=unit, tickCount=5, titleAlign="right", titleAnchor="end", labelOverlap=True)
    scale = alt.Scale(domain=[0, top], nice=False)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", axis=axis, scale=scale)

    def lane(top: float, bottom: float) -> dict[str, Any]:
        return {"y": place(100 - top, alt.Y), "y2": alt.Y2Datum(100 - bottom)}

    guess = rows("guess").mark_rect(fill=HATCH, stroke=INK, strokeWidth=1.5, strokeDash=[4, 3])
    beside = (
        rows("guess")
        .transform_filter(f"datum.to <= {0.7 * top}")
        .mark_text(align="left", dx=8, fontSize=SIZE, fill=INK)
    )
    words: dict[str, Any] = {"align": "right", "dx": -8, "fontSize": SIZE}
    far = rows("guess").transform_filter(f"datum.to > {0.7 * top}")
    ground = far.mark_text(**words, stroke=SURFACE, strokeWidth=7, strokeJoin="round")
    middle = place(100 - 18, alt.Y)
    bars = rows("stack").mark_rect(stroke=SURFACE, strokeWidth=1.5)
    # Each name begins below its own segment, in turn higher and lower, so that neighbors do not touch.
    names = rows("stack").transform_calculate(y="datum.part == 'gradients' || datum.part == 'activations' ? 6 : 20")
    gap = rows("gap").mark_rect(fill=INK).encode(x=x("from"), x2="to", **lane(34, 38))
    # Behind the answer's bar, below the end of the gap's: there it has room whatever was predicted.
    near = rows("gap").mark_text(align="left", dx=8, baseline="middle", fontSize=SIZE, fontWeight=600, fill=INK)
    layers: list[Any] = [
        guess.encode(x=x("from"), x2="to", **lane(6, 30)).properties(name="guess"),
        *(
            text.encode(x=x("to"), y=middle, text="text:N")
            for text in (beside, ground, far.mark_text(**words, fill=INK))
        ),
        bars.encode(x=x("from"), x2="to", fill=color("part", PARTS), **lane(42, 70)).properties(name="stack"),
        names.mark_text(align="left", baseline="middle", fontSize=SIZE, fill=INK)
        .encode(x=x("from"), y=stage("y", alt.Y), text="text:N")
        .properties(name="names"),
        gap.properties(name="gap"),
        near.encode(x=x("at"), y=place(100 - 56, alt.Y), text="text:N").properties(name="gap_text"),
    ]
    return framed(alt.layer(*layers), 178, left=8, right=16, bottom=44)


def waterfall(track: str) -> Any:
    """A bar for each part, each beginning where the last one ended; what is needed; the device's limit across."""
    unit, lines = track_of(track).audit.unit[0], ROWS.get(track, MOST_ROWS)
    kept: dict[str, Any] = {"labelOverlap": True, "labelSeparation": 4}
    axis = alt.Axis(title=unit, tickCount=4, titleAlign="right", titleAnchor="end", **kept)
    scale = alt.Scale(zero=True, nice=False)
    top = lines + 0.9

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", axis=axis, scale=scale)

    bars = rows("bars").transform_calculate(
        upper=f"{top} - 1 - datum.row", lower=f"{top} - 1.72 - datum.row", middle=f"{top} - 1.36 - datum.row"
    )
    over = alt.condition("datum.over", alt.value(LIMIT), alt.value(INK))
    y, y2 = stage("upper", alt.Y, top), alt.Y2("lower")
    need = bars.transform_filter("datum.part == 'need'").mark_rect()
    parts = bars.transform_filter("datum.part != 'need'").mark_rect(stroke=SURFACE, strokeWidth=1)
    names = bars.mark_text(align="left", baseline="middle", fontSize=SIZE)
    across = {"x": x("at"), "y": place(top - 0.8, alt.Y, top), "y2": alt.Y2Datum(0)}
    # The line's name stands where it has room: it begins at the line on the left half, and ends at it on the right.
    line = rows("limit").mark_rule(stroke=LIMIT, strokeWidth=2, strokeDash=[7, 4])
    title = rows("limit").mark_text(align="right", baseline="middle", fontSize=SIZE, fill=LIMIT)
    layers: list[Any] = [
        rows("frame").mark_point(stroke="transparent").encode(x=x("at")),
        parts.encode(x=x("from"), x2="to", y=y, y2=y2, fill=color("part", PARTS)).properties(name="bars"),
        need.encode(x=x("from"), x2="to", y=y, y2=y2, fill=over).properties(name="need"),
        names.encode(x=alt.value(6 - NAMES), y=stage("middle", alt.Y, top), text="label:N", fill=over),
        rows("limit").mark_rule(stroke=SURFACE, strokeWidth=2).encode(**across),
        line.encode(**across),
        title.encode(x=alt.value(WIDTH - NAMES - 12), y=place(top - 0.4, alt.Y, top), text="text:N"),
    ]
    return framed(alt.layer(*layers), int(LINE * top), left=NAMES, right=12, bottom=44)
