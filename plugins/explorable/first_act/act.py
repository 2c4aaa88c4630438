"""What compound interest makes of a hundred: change everything here."""

from explorable import live

YEARS = 20


def grown(rate: float, years: int = YEARS) -> float:
    """What 100 becomes at `rate` percent a year."""
    return float(100 * (1 + rate / 100) ** years)


def answer() -> float:
    """The right answer to the question: always computed, never typed."""
    return grown(7.0)


def compute(state: live.State) -> live.View:
    """Everything that is shown of a state: the rows of the chart, the number that matters, the same in words."""
    rate = float(state.controls["rate"])
    rows = [{"year": year, "worth": grown(rate, year)} for year in range(YEARS + 1)]
    # What the reader has locked in stays on the chart.
    said = [] if state.prediction is None else [{"year": YEARS, "worth": float(state.prediction)}]
    cells = [{"year": str(row["year"]), "worth": f"{row['worth']:.0f}"} for row in rows]
    columns = (live.Column("year", "Year", numeric=True), live.Column("worth", "Worth", "$", numeric=True))
    return live.View(
        data={"growth": rows, "said": said},
        headline=live.Figure(f"After {YEARS} years", f"{rows[-1]['worth']:.0f}", "$"),
        summary=f"At {rate:g} % a year, 100 dollars become {rows[-1]['worth']:.0f} in {YEARS} years.",
        tables={"growth": live.Table("Worth by year", columns, cells)},
    )


def reveal(prediction: live.Value, state: live.State) -> live.Verdict:
    """What the answer is, and how far off the reader was."""
    said = float(prediction)
    right = abs(said - answer()) <= 0.1 * answer()
    return live.Verdict(
        right, f"You said {said:.0f} dollars; it is {answer():.0f}.", ("Interest earns interest, year after year.",)
    )


ACT = live.Act(
    name="first-act",
    title="Compound interest",
    minutes=3,
    situation="You put 100 dollars away for twenty years. Each year they earn interest, and so does the interest.",
    contexts=(live.Context("account", "An account", "Interest is paid once a year."),),
    question=live.NumberQuestion(
        "What do 100 dollars become in twenty years at 7 % a year?", "$", minimum=0, maximum=1000, answer=answer
    ),
    controls=(live.Slider("rate", "Interest", 0, 6, 2, "%", step=0.5),),
    compute=compute,
    reveal=reveal,
    charts={"growth": "Worth by year"},
)
