"""One counter: how the wait grows as the counter gets busy."""

from explorable import live
from queues import busy, waiting

SERVED = 60
STEPS = range(5, 60, 5)


def answer() -> float:
    """Minutes of waiting at 54 arrivals an hour."""
    return float(waiting(54, SERVED))


def compute(state: live.State) -> live.View:
    """The curve of waiting, up to where the reader has gone before the reveal, and the point of this state."""
    arrivals = float(state.controls["arrivals"])
    shown = [step for step in STEPS if state.revealed or step <= arrivals]
    rows = [{"arrivals": step, "minutes": waiting(step, SERVED)} for step in shown]
    here = {"arrivals": arrivals, "minutes": waiting(arrivals, SERVED)}
    cells = [{"arrivals": f"{row['arrivals']}", "minutes": f"{row['minutes']:.1f}"} for row in rows]
    columns = (
        live.Column("arrivals", "Arrivals", "per hour", numeric=True),
        live.Column("minutes", "Wait", "min", numeric=True),
    )
    return live.View(
        data={"curve": rows, "here": [here]},
        headline=live.Figure("Mean wait", f"{here['minutes']:.1f}", "min"),
        summary=f"At {arrivals:g} arrivals an hour customers wait {here['minutes']:.1f} min; the counter is busy "
        f"{busy(arrivals, SERVED):.0%} of the time.",
        tables={"line": live.Table("Wait by arrivals", columns, cells)},
    )


def reveal(prediction: live.Value, state: live.State) -> live.Verdict:
    """What the wait is, and why it is so long."""
    right = answer()
    close = abs(float(prediction) - right) <= 1
    return live.Verdict(
        close,
        f"You said {float(prediction):g} min; it is {right:.0f} min.",
        ("Only a tenth of the time is left to make up for what came late.",),
    )


ACT = live.Act(
    name="one-counter",
    title="One counter",
    minutes=3,
    situation="A counter serves sixty customers an hour. Thirty come in an hour, and each waits a minute.",
    contexts=(live.Context("counter", "A counter", "It serves sixty an hour."),),
    question=live.NumberQuestion(
        "How long does each wait when 54 come in an hour?", "min", minimum=0, maximum=60, answer=answer
    ),
    controls=(live.Slider("arrivals", "Arrivals", 5, 55, 30, "per hour", step=1, integer=True),),
    compute=compute,
    reveal=reveal,
    charts={"line": "Mean wait by arrivals"},
    hands=(live.Handle("line", "now", "arrivals", field="arrivals"),),
)
