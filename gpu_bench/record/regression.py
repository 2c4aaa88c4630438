"""Which changes are regressions: numbers that became worse by more than a bound, and cases that no longer work.

A regression is not proposed as a new number. It becomes the text of an issue, and a person decides.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_bench.record.compare import Change

BOUNDS = {
    "step time": 0.10,
    "time of": 0.10,
    "energy per token": 0.10,
    "peak memory": 0.05,
    "loss": 0.05,
    "largest batch": 0.0,
}
"""By how much a number may become worse, as a share of the old one, by how its name begins. A smaller largest batch is
worse; of all others a larger value is. They are wider than noise: a new driver moves times by some percent."""


def bound_of(change: Change) -> float | None:
    """The bound of this number, as a share; None where it has none."""
    return next((bound for name, bound in BOUNDS.items() if change.quantity.startswith(name)), None)


def regressions(changes: Sequence[Change]) -> list[Change]:
    """The changes that are worse than their bound, and cases that were `ok` and are no more."""
    return [change for change in changes if _worse(change)]


def _worse(change: Change) -> bool:
    if change.verdict == "status":
        return change.note.startswith("ok, now ")
    bound, share = bound_of(change), change.share
    if change.verdict != "moved" or bound is None or share is None:
        return False
    return (-share if change.quantity.startswith("largest batch") else share) > bound
