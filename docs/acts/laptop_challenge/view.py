"""What the instruments of the challenge show in a state."""

from __future__ import annotations

from collections.abc import Iterator

from explorable import live
from ironlaw import GB

from .failures import failure
from .parts import NAMES, parts, textbook
from .recipes import success, wins
from .settings import BUDGET, Setting, fits, floors, gb, ledger, need, setting_of
from .tables import FLOORS, floors_table, levers_table, memory_table, weight_table
from .updates import weight_rows

AXIS_TOPS = (20, 50, 110, 240)
"""Where the axis may end, in GB: a few fixed places, so that bars move and the axis seldom does."""


def compute(state: live.State) -> live.View:
    """What the instruments show."""
    setting = setting_of(state)
    open_, told = state.prediction is not None, state.revealed
    won = open_ and wins(setting)
    problem = failure(setting, told=told) if open_ else None
    said = state.held if state.prediction is None else state.prediction
    guess = 0.0 if said is None else float(said)
    highest = max(sum(parts(setting).values()), need(setting), textbook(setting), guess * GB) / GB
    top = next(top for top in AXIS_TOPS if top >= highest)
    return live.View(
        data={
            "stack": tuple(stack(setting)),
            "lines": tuple(lines(setting)),
            "textbook": ({"from": 0, "to": textbook(setting) / GB, "text": f"book ◇ {gb(textbook(setting))} GB"},),
            "need": ({"gb": need(setting) / GB, "text": f"needs {gb(need(setting))} GB", "over": not fits(setting)},),
            "budget": ({"gb": BUDGET / GB},),
            "budget_text": ({"gb": BUDGET / GB, "text": f"the laptop gives {gb(BUDGET)} GB"},),
            "frame": ({"gb": 0}, {"gb": top}),
            "guess": () if said is None else ({"from": 0, "to": guess, "text": f"you: {guess:g} GB"},),
            "floor": (floor(),) if told else (),
            "gap": (gap(guess),) if told else (),
            "floors": tuple(floor_rows()) if told else (),
            "floors_closed": () if told else ({"text": "drawn with the reveal"},),
            "weight": tuple(weight_rows()) if open_ else (),
            "weight_closed": () if open_ else ({"text": "drawn when you lock in"},),
        },
        headline=headline(setting, won=won),
        summary=f"{setting.words}: {gb(need(setting))} GB are needed, the laptop can give {gb(BUDGET)} GB. "
        f"The textbook counts {textbook(setting) / GB:.1f} GB.",
        tables={} if state.moving else tables(setting, open_=open_, told=told),
        failure=problem,
        success=success(setting) if won else None,
        command=setting.command,
    )


CLOSED_UNTIL_TOLD = live.Table("Opens with the reveal.", (live.Column("a", "Closed until then"),), [{"a": "?"}])
CLOSED = live.Table("Opens when you lock in your prediction.", (live.Column("a", "Closed until then"),), [{"a": "?"}])


def tables(setting: Setting, *, open_: bool, told: bool) -> dict[str, live.Table]:
    """What the reader may read by now."""
    return {
        "memory": memory_table(setting),
        "floors": floors_table() if told else CLOSED_UNTIL_TOLD,
        "weight": weight_table() if open_ else CLOSED,
        "levers": levers_table(setting, told=told) if open_ else CLOSED,
    }


def floor() -> live.Row:
    """The least that trains: the answer."""
    least = need(floors()["trains"]) / GB
    return {"gb": least, "text": f"least that trains {least:.2f} GB"}


def gap(guess: float) -> live.Row:
    """From the prediction to the least that trains."""
    least = need(floors()["trains"]) / GB
    far = f"{abs(least - guess):.1f} GB {'short' if guess < least else 'too much'}"
    return {"from": min(guess, least), "to": max(guess, least), "text": far}


def headline(setting: Setting, *, won: bool) -> live.Figure:
    """What the GPU must have, and how that is judged."""
    judged = "it fits, and it trains" if won else f"of {gb(BUDGET)} GB"
    return live.Figure(f"Needed on the GPU ({judged})", gb(need(setting)), "GB")


def stack(setting: Setting) -> Iterator[live.Row]:
    """One bar, stacked by kind of tensor, in GB."""
    base = 0.0
    for part, size in parts(setting).items():
        yield {"part": part, "from": base, "to": base + size / GB, "label": f"{NAMES[part]} {gb(size)} GB"}
        base += size / GB


def lines(setting: Setting) -> Iterator[live.Row]:
    """A line of text per kind of tensor, under the bar."""
    for row, (part, size) in enumerate(parts(setting).items()):
        yield {"row": row, "part": part, "text": f"{NAMES[part]} {gb(size)} GB"}


def floor_rows() -> Iterator[live.Row]:
    """The three floors: static bytes, and what the GPU must have."""
    for name, title in FLOORS.items():
        setting = floors()[name]
        static = ledger(setting).static_bytes / GB
        yield {
            "floor": title,
            "static": static,
            "need": need(setting) / GB,
            # Where words would begin left of the line of what there is and run through it, they begin right of it.
            "clear": BUDGET / GB if 0 < BUDGET - need(setting) < 8 * GB else 0,
            "over": not fits(setting),
            "text": f"needs {gb(need(setting))}",
        }
