"""What all three parts write alike: numbers, a prediction's gap, the share of the best, the table that is closed."""

from __future__ import annotations

from explorable import live

from .found import FOUND

CLOSED = live.Table("Opens when you lock in your prediction.", (live.Column("a", "Closed until then"),), [{"a": "?"}])
"""In the place of every table that would tell the answer."""

COUNTS = {1: "One", 2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six"}
"""How many changes a hint names."""


def number(value: float, whole: float) -> str:
    """With two digits behind the point below 10, one below `whole`, and none from there on."""
    return f"{value:,.0f}" if value >= whole else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def beyond(value: float, limit: float, digits: int, *, kept: bool) -> str:
    """A number held against a limit: where it is not kept, with as many digits as tell it from the limit."""
    while not kept and value != limit and round(value, digits) == round(limit, digits):
        digits += 1
    return f"{value:,.{digits}f}"


def gap(said: float, answer: float, far: str, *, right: bool) -> live.Row:
    """A bar from the prediction to the answer; `far` says how far, where the prediction is not right."""
    return {"from": min(said, answer), "to": max(said, answer), "text": "right" if right else far}


def share(track: str, part: str, reached: float | None) -> float | None:
    """A score over the best that the search found; None where the mission does not take the setting."""
    return None if reached is None else reached / FOUND[track][part].score
