"""The charts of part 2: three boxes with their queues, and the speed after the change of the question."""

from __future__ import annotations

from typing import Any

import altair as alt

from docs.acts.drawing import HATCH, INK, LIMIT, MUTED, SIZE, SURFACE, color, framed, place, rows, stage

STAGES = {"data": "var(--il-data)", "bus": "var(--il-memory)", "compute": "var(--il-compute)"}
FLOOR, CEILING = 40, 96
"""Bottom and top of the boxes on a stage 100 high."""
GAUGE = (6, 14)


def boxes() -> Any:
    """Three boxes filled as far as they are busy, places of queues between them, and the gauge of compute below."""
    ends: dict[str, Any] = {"x": stage("from", alt.X), "x2": "to"}
    whole = {"y": place(FLOOR, alt.Y), "y2": alt.Y2Datum(CEILING)}
    filled = rows("boxes").transform_calculate(
        bottom=f"{FLOOR}", top=f"{FLOOR} + {(CEILING - FLOOR) / 100} * datum.level"
    )
    edge = alt.condition("datum.longest", alt.value(LIMIT), alt.value(INK))
    outline = rows("boxes").mark_rect(fill="transparent", strokeWidth=2)
    text: dict[str, Any] = {"align": "center", "baseline": "middle"}
    at: dict[str, Any] = {"x": stage("middle", alt.X)}
    number = {**at, "y": place((FLOOR + CEILING) / 2, alt.Y), "text": "text:N"}
    places = rows("queues").transform_calculate(y=f"{FLOOR + 6} + {(CEILING - FLOOR) / 5} * datum.row")
    ink = alt.condition("datum.full", alt.value(INK), alt.value("transparent"))
    gauge = {"y": place(GAUGE[0], alt.Y), "y2": alt.Y2Datum(GAUGE[1])}
    track = alt.Chart(alt.InlineData(values=[{"from": 0, "to": 100}])).mark_rect(fill="var(--il-border)")
    layers: list[Any] = [
        filled.mark_rect()
        .encode(**ends, y=stage("bottom", alt.Y), y2="top", fill=color("stage", STAGES))
        .properties(name="levels"),
        outline.encode(**ends, **whole, stroke=edge),
        rows("boxes")
        .mark_text(**text, fontSize=20, fontWeight=600, stroke=SURFACE, strokeWidth=6, strokeJoin="round")
        .encode(**number),
        rows("boxes").mark_text(**text, fontSize=20, fontWeight=600, fill=INK).encode(**number),
        rows("boxes").mark_text(**text, fontSize=SIZE, fill=INK).encode(**at, y=place(FLOOR - 7, alt.Y), text="name:N"),
        places.mark_square(size=70, stroke=MUTED, strokeWidth=1.2, opacity=1).encode(
            x=stage("x", alt.X), y=stage("y", alt.Y), fill=ink
        ),
        track.encode(x=stage("from", alt.X), x2="to", **gauge),
        rows("gauge").mark_rect(fill=STAGES["compute"]).encode(x=stage("from", alt.X), x2="to", **gauge),
        rows("gauge")
        .mark_text(align="left", baseline="middle", fontSize=SIZE, fill=INK)
        .encode(x=place(0, alt.X), y=place(GAUGE[1] + 7, alt.Y), text="text:N"),
    ]
    return framed(alt.layer(*layers), 250)


def change() -> Any:
    """The reader's factor as a bar, and the true factor."""
    axis = alt.Axis(title="times as fast", values=[0, 0.5, 1, 1.5, 2, 2.5], titleAlign="right", titleAnchor="end")
    scale = alt.Scale(domain=[0, 2.5], nice=False)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", axis=axis, scale=scale)

    def lane(top: float, bottom: float) -> dict[str, Any]:
        return {"y": place(100 - top, alt.Y), "y2": alt.Y2Datum(100 - bottom)}

    guess = rows("guess").mark_rect(fill=HATCH, stroke=INK, strokeWidth=1.5, strokeDash=[4, 3])
    words: dict[str, Any] = {"align": "left", "dx": 10, "baseline": "middle", "fontSize": SIZE}
    inside: dict[str, Any] = {"align": "left", "baseline": "middle", "fontSize": SIZE}
    ground: dict[str, Any] = {"stroke": SURFACE, "strokeWidth": 7, "strokeJoin": "round"}
    named = {"x": alt.value(8), "y": place(100 - 20, alt.Y), "text": "text:N"}
    answer = rows("answer")
    zero = {"x": x("from"), "x2": "to"}
    # Words beside the gap's bar: before it, or behind it where there is no room before.
    far = (
        rows("gap")
        .transform_calculate(at="datum.from >= 0.75 ? datum.from : datum.to")
        .mark_text(
            align=alt.ExprRef("datum.from >= 0.75 ? 'right' : 'left'"),
            dx=alt.ExprRef("datum.from >= 0.75 ? -6 : 6"),
            baseline="middle",
            fontSize=SIZE,
            fontWeight=600,
            fill=INK,
        )
    )
    layers: list[Any] = [
        guess.encode(x=x("from"), x2="to", **lane(4, 36)).properties(name="guess"),
        rows("guess").mark_text(**inside, **ground).encode(**named),
        rows("guess").mark_text(**inside, fill=INK).encode(**named),
        answer.mark_rect(fill=STAGES["compute"]).encode(**zero, **lane(56, 92)).properties(name="answer"),
        answer.mark_text(**words, fontWeight=600, fill=INK)
        .encode(x=x("to"), y=place(100 - 74, alt.Y), text="text:N")
        .properties(name="answer_text"),
        rows("gap").mark_rect(fill=INK).encode(x=x("from"), x2="to", **lane(43, 49)).properties(name="gap"),
        far.encode(x=x("at"), y=place(100 - 46, alt.Y), text="text:N").properties(name="gap_text"),
    ]
    return framed(alt.layer(*layers), 150, left=8, right=20, bottom=44)
