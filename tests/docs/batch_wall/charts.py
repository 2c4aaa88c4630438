"""The chart of the batch wall."""

import altair as alt


def _rows(name: str) -> alt.Chart:
    return alt.Chart(alt.InlineData(name=name, values=[]))


def wall() -> alt.TopLevelMixin:
    """Bars in GB and the card's memory as a line."""
    bars = _rows("bars").mark_bar(fill="var(--il-memory)")
    line = _rows("limit").mark_rule(stroke="var(--il-limit)", strokeWidth=2, strokeDash=[7, 4])
    return alt.layer(
        bars.encode(x=alt.X("batch:O", sort=None), y=alt.Y("gb:Q", title="GB")), line.encode(y="gb:Q")
    ).properties(width=340, height=240)
