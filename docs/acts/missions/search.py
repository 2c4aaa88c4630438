"""The search that a reader's setting is measured against: every setting of a part, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from explorable import live

from .facts import Found, Levers, Setting, settings

NEAR = 0.95
"""Share of the best score from which a setting belongs to the winning ones."""


class UnsolvedError(ValueError):
    """A part of a mission that no setting solves."""


def scored(levers: Levers, score: Callable[[Setting], float | None]) -> Iterator[tuple[float, dict[str, live.Value]]]:
    """Every setting that the mission takes, with its score."""
    for setting in settings(levers):
        value = score(setting)
        if value is not None:
            yield value, setting


def found(levers: Levers, score: Callable[[Setting], float | None]) -> tuple[Found, list[dict[str, live.Value]]]:
    """The best setting, and all that come within 5 % of it.

    Raises:
        UnsolvedError: The mission takes no setting.
    """
    all_scored = list(scored(levers, score))
    if not all_scored:
        raise UnsolvedError
    best, setting = max(all_scored, key=lambda pair: pair[0])
    total = 1
    for lever in levers:
        total *= len(lever.values)
    return Found(best, setting, len(all_scored), total), [one for value, one in all_scored if value >= NEAR * best]
