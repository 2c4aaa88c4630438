"""The chart of one counter."""

import altair as alt


def line() -> alt.TopLevelMixin:
    """The wait over the arrivals, and the state as a point that can be dragged."""
    curve = alt.Chart(alt.InlineData(name="curve", values=[])).mark_line(stroke="var(--il-wait)")
    here = alt.Chart(alt.InlineData(name="here", values=[])).mark_point(
        fill="var(--il-wait)", stroke="var(--il-wait)", size=120
    )
    x = alt.X("arrivals:Q", title="arrivals an hour", scale=alt.Scale(domain=[0, 60]))
    y = alt.Y("minutes:Q", title="min", scale=alt.Scale(domain=[0, 12]))
    return alt.layer(curve.encode(x=x, y=y), here.encode(x=x, y=y).properties(name="now")).properties(
        width=340, height=220
    )
