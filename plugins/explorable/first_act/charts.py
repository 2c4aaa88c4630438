"""The charts of the act, in Altair, over the rows that `compute` returns."""

import altair as alt


def growth() -> alt.TopLevelMixin:
    """The worth over the years."""
    rows = alt.Chart(alt.InlineData(name="growth", values=[]))
    lines: alt.Chart = rows.mark_line(stroke="var(--il-focus)").encode(x="year:Q", y="worth:Q")
    return lines.properties(width=340, height=220)
