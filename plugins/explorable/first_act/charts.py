"""The charts of the act, in Altair, over the rows that `compute` returns."""

import altair as alt


def growth() -> alt.TopLevelMixin:
    """The worth over the years, and what the reader said it would become."""
    rows = alt.Chart(alt.InlineData(name="growth", values=[]))
    said = alt.Chart(alt.InlineData(name="said", values=[]))
    lines: alt.Chart = rows.mark_line(stroke="var(--il-focus)").encode(x="year:Q", y="worth:Q")
    guess: alt.Chart = said.mark_point(stroke="var(--il-fg)", size=80).encode(x="year:Q", y="worth:Q")
    return alt.layer(lines, guess).properties(width=340, height=220)
