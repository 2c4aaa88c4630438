"""The charts of Act 1, drawn by Altair while the site is built. The rows come from act.py, at build and in the page.

The horizontal axis has no meaning of its own: it is a stage 100 wide, with the stack in the middle, the labels right of
it, and the prediction as a ghost around its upper end. Colors are the page's, so one picture serves light and dark.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from docs.acts.drawing import MEMORY

WIDTH, HEIGHT = 352, 272
STACK = (27, 49)
GHOST = (STACK[0] - 3, STACK[1] + 3)
BRACKET = 20
"""Where the gap between prediction and answer is drawn."""
LABELS = 55
COLORS = {
    **{part: MEMORY[part] for part in ("parameters", "gradients", "master", "activations", "driver")},
    "temporary": MEMORY["passing"],
    "state_1": MEMORY["optimizer"],
    "state_2": MEMORY["optimizer_2"],
}
SIZE = 13
"""Font size of all text, which stays readable when a phone shows the chart at four fifths."""


def ledger() -> alt.TopLevelMixin:
    """The stack in GB with its labels, the peak, the device line, and the reader's prediction as a hatched outline."""
    axis = alt.AxisConfig(
        labelFontSize=SIZE,
        titleFontSize=SIZE,
        labelColor="var(--il-muted)",
        # The name of a prediction ends before the axis's numbers.
        labelPadding=8,
        titleColor="var(--il-muted)",
        gridOpacity=0.6,
        domain=False,
        ticks=False,
    )
    return alt.layer(_frame(), _stack(), *_limit(), *_labels(), *_prediction(), *_gap(), _total()).properties(
        width=WIDTH,
        height=HEIGHT,
        padding={"left": 2, "right": 2, "top": 6, "bottom": 6},
        config=alt.Config(font="inherit", axis=axis),
    )


def _rows(name: str) -> alt.Chart:
    return alt.Chart(alt.InlineData(name=name, values=[]))


def _x(at: float) -> alt.X:
    return alt.X(datum=at, type="quantitative", axis=None, scale=alt.Scale(domain=[0, 100], nice=False))


def _y(field: str) -> alt.Y:
    axis = alt.Axis(title="GB", titleAngle=0, titleAlign="left", titleAnchor="end", titleX=-30, titleY=-14, tickCount=5)
    return alt.Y(field, type="quantitative", axis=axis, scale=alt.Scale(zero=True, nice=False))


def _frame() -> alt.Chart:
    """Invisible points that hold the axis at one of a few heights."""
    points: alt.Chart = _rows("frame").mark_point(stroke="transparent").encode(x=_x(0), y=_y("gb"))
    return points


# --8<-- [start:stack]
def _stack() -> alt.Chart:
    fill = alt.Color("part:N", scale=alt.Scale(domain=list(COLORS), range=list(COLORS.values())), legend=None)
    bars: alt.Chart = _rows("bars").mark_rect(stroke="var(--il-surface)", strokeWidth=1.5)
    stack: alt.Chart = bars.encode(x=_x(STACK[0]), x2=alt.X2Datum(STACK[1]), y=_y("from"), y2="to", color=fill)
    return stack.properties(name="stack")


# --8<-- [end:stack]


def _labels() -> tuple[alt.Chart, ...]:
    """A name and a number beside every segment and the device line, and a hairline to each."""
    red, ink = alt.value("var(--il-limit)"), alt.value("var(--il-fg)")
    leader = (
        _rows("labels")
        .mark_rule(stroke="var(--il-control)", strokeWidth=1)
        .encode(x=_x(STACK[1] + 1), x2=alt.X2Datum(LABELS - 1), y=_y("middle"), y2="gb")
    )
    # What is needed is no layer: heavy, as its line is.
    texts = (
        _rows("labels")
        .transform_filter(f"datum.part {sign} 'peak'")
        .mark_text(align="left", fontSize=SIZE, fontWeight="bold" if name == "needed" else "normal")
        .encode(x=_x(LABELS), y=_y("gb"), text="text:N", fill=alt.condition("datum.red", red, ink))
        .properties(name=name)
        for sign, name in (("!==", "names"), ("===", "needed"))
    )
    return leader.properties(name="leaders"), *texts


def _total() -> alt.Chart:
    """The total below the stack: above it stand the prediction's hatching and the line of what is needed."""
    look: dict[str, Any] = {"align": "center", "baseline": "top", "dy": 6, "fontWeight": 600, "fontSize": SIZE}
    total: alt.Chart = _rows("total").mark_text(**look, fill="var(--il-fg)")
    named: alt.Chart = total.encode(x=_x(sum(STACK) / 2), y=_y("from"), text="text:N").properties(name="total")
    return named


def _limit() -> tuple[alt.Chart, ...]:
    """What the device can give, across the whole picture, and what the step needs at its peak: a thick mark.

    The line's gaps are pale, so that it shows on every color. A pale edge beside it would hide small differences.
    """
    gaps = _rows("limit").mark_rule(stroke="var(--il-surface)", strokeWidth=2)
    line = _rows("limit").mark_rule(stroke="var(--il-limit)", strokeWidth=2, strokeDash=[7, 4])
    over = alt.condition("datum.over", alt.value("var(--il-limit)"), alt.value("var(--il-fg)"))
    peak = (
        _rows("peak")
        .mark_rule(strokeWidth=4)
        .encode(x=_x(STACK[0] - 3), x2=alt.X2Datum(STACK[1] + 3), y=_y("gb"), stroke=over)
    )
    rules = tuple(rule.encode(x=_x(0), x2=alt.X2Datum(STACK[1] + 1), y=_y("gb")) for rule in (gaps, line))
    return (*rules, peak)


def _prediction() -> tuple[alt.Chart, ...]:
    """What the reader says the optimizer adds: a ghost around the place where it would stand."""
    outline = (
        _rows("prediction")
        .mark_rect(fill="url(#il-hatch)", stroke="var(--il-fg)", strokeWidth=1.5, strokeDash=[4, 3])
        .encode(x=_x(GHOST[0]), x2=alt.X2Datum(GHOST[1]), y=_y("from"), y2="to")
    )
    text = (
        _rows("prediction")
        # Left of the bracket that enters with the reveal.
        .mark_text(align="right", baseline="middle", fontSize=SIZE, fontWeight=600, fill="var(--il-fg)")
        .encode(x=_x(BRACKET - 1.5), y=_y("name_at"), text="text:N")
    )
    return outline.properties(name="ghost"), text


def _gap() -> tuple[alt.Chart, ...]:
    """Between the prediction and what the optimizer adds: a bracket with the distance, tied to both."""
    ink = "var(--il-fg)"
    line = _rows("gap").mark_rule(stroke=ink, strokeWidth=1.5).encode(x=_x(BRACKET), y=_y("from"), y2="to")
    text = (
        _rows("gap")
        .mark_text(align="right", baseline="middle", fontSize=SIZE, fill=ink)
        .encode(x=_x(BRACKET - 1.5), y=_y("middle"), text="text:N")
    )
    ends = (
        _rows("gap")
        .mark_rule(stroke=ink, strokeWidth=1.5)
        .encode(x=_x(BRACKET), x2=alt.X2Datum(STACK[0]), y=_y(end))
        .properties(name=f"gap_{end}")
        for end in ("from", "to")
    )
    return line.properties(name="gap"), *ends, text.properties(name="gap_text")
