"""What a change saves and costs, in words."""

from __future__ import annotations

from ironlaw import GB
from ironlaw.answers.advice import Advice
from ironlaw.answers.estimate import Verdict

_THEN = {"fits": "Then it fits.", "uncertain": "Still uncertain: it may fit then.", "not": "It does not fit yet."}
_STILL = "Still fits."
TIMES = 3
"""Times as long from which on a change is not told in percent."""


def memory(saved: float) -> str:
    """Gigabytes that are saved, or needed more."""
    return f"{abs(saved):.1f} GB {'less' if saved > 0 else 'more'}"


def pace(factor: float) -> str:
    """How much less or more time something takes that takes so many times as long."""
    if factor >= TIMES:
        return f"{factor:.3g} times as long"
    return (
        "the same time"
        if abs(factor - 1) < 0.005
        else f"{100 * abs(factor - 1):.0f} % {'more' if factor > 1 else 'less'} time"
    )


def then(verdict: Verdict, before: Verdict) -> str:
    """Whether the plan fits after a change of one with such a verdict."""
    return _STILL if verdict == before == "fits" else _THEN[verdict]


def by_count(text: str) -> str:
    """The same of a plan of which something is not counted."""
    for said in (_THEN["fits"], _STILL):
        text = text.replace(said, f"{said[:-1]} by what is counted.")
    return text


def sentence(one: Advice, before: Verdict) -> str:
    """What a change of a plan with such a verdict saves and costs."""
    costs = f"{memory(one.saves_bytes / GB)}, {pace(one.time_factor)}."
    lost = f"{one.gives_up[:1].upper()}{one.gives_up[1:]}." if one.gives_up else ""
    return " ".join(part for part in (costs, then(one.verdict, before), lost) if part)
