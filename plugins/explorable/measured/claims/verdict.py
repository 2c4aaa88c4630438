"""The verdict on a claim: a pure rule over what a source says, what was computed, and how far the two may differ."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from explorable.measured.values.quantities import Format, format_number, glue, unit_text

Verdict = Literal["confirmed", "agrees", "refined", "contradicted", "open"]
VERDICTS: dict[Verdict, str] = {
    "confirmed": "confirmed",
    "agrees": "arithmetic agrees",
    "refined": "refined",
    "contradicted": "contradicted",
    "open": "not yet checkable",
}
"""Verdicts in the order in which they are shown, with their words. `agrees` is the best for a source's own figures."""

ROUNDING = 1e-9
"""Relative error of floating-point arithmetic, which no tolerance may turn into a verdict."""


@dataclass(frozen=True)
class Stated:
    """What a source says: a number (`low == high`), a range, or a bound (one side is None), as it is printed.

    Attributes:
        low: The smallest value the source allows.
        high: The largest.
    """

    low: Decimal | None
    high: Decimal | None

    @property
    def text(self) -> str:
        """The number as the source prints it: `12`, `2–4`, `≥ 90`."""
        if self.low is None:
            return f"≤ {printed(self.high or Decimal())}"
        if self.high is None:
            return f"≥ {printed(self.low)}"
        return printed(self.low) if self.low == self.high else f"{printed(self.low)}–{printed(self.high)}"


@dataclass(frozen=True)
class Tolerance:
    """How far a computed value may be from what a source says, and why that is fair.

    Attributes:
        name: What claims call it.
        within: Factor up to which a value is confirmed; None for the rounding of the printed digits.
        band: Factor up to which a value is still refined instead of contradicted; None for no such band.
        because: The reason, a sentence.
    """

    name: str
    within: float | None
    band: float | None
    because: str


def judge(stated: Stated, tolerance: Tolerance, computed: float, also: float | None = None) -> Verdict:
    """The verdict on a claim whose check gave `computed`.

    `also` is the same question with a qualification that the source leaves out. A claim that holds in one of the two
    readings only is refined.
    """
    readings = [holds(stated, tolerance, value) for value in (computed, also) if value is not None]
    if all(readings):
        return "confirmed"
    if any(readings) or (tolerance.band is not None and _holds(stated, tolerance.band, computed)):
        return "refined"
    return "contradicted"


def printed(value: Decimal) -> str:
    """A number with the digits of its source and separated thousands; `1 × 10²⁰` when written with an exponent."""
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and (exponent > 0 or value.adjusted() < -4):
        digits = value.scaleb(-value.adjusted()).normalize()
        power = str(value.adjusted()).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"{digits} × 10{power}"
    return f"{value:,}".replace("-", "−")


def shown(value: float, form: Format) -> str:
    """A computed value with its unit, in the format of the claim; very large and small ones with an exponent."""
    plain = ",d" if form.unit == "count" else ""
    spec = form.spec or plain or (".4g" if value and not 1e-3 <= abs(value) < 1e7 else "")
    return glue(format_number(value, spec), unit_text(form.unit))


def holds(stated: Stated, tolerance: Tolerance, value: float) -> bool:
    """Whether one reading of a claim confirms it."""
    return _holds(stated, tolerance.within, value)


def _holds(stated: Stated, factor: float | None, value: float) -> bool:
    """Whether a value lies between the stated limits, each widened by a factor or by half its last printed digit."""
    above = stated.low is None or value >= _widened(stated.low, factor, -1)
    below = stated.high is None or value <= _widened(stated.high, factor, 1)
    return above and below


def _widened(limit: Decimal, factor: float | None, direction: int) -> float:
    """A limit moved outwards. A factor of 2 moves 10 down to 5 or up to 20; zero is not moved by any factor."""
    value = float(limit)
    slack = abs(value) * ROUNDING
    if factor is None:
        exponent = limit.as_tuple().exponent
        assert isinstance(exponent, int)
        return value + direction * (10.0**exponent / 2 + slack)
    outwards = (value > 0) == (direction > 0)
    return (value * factor if outwards else value / factor) + direction * slack
