"""The settings next to a reader's: one lever moved by one position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .facts import Dial, Lever, Levers, Setting, position


@dataclass(frozen=True)
class Step:
    """One lever moved by one position.

    Attributes:
        lever: The lever.
        setting: The setting that it leads to.
    """

    lever: Lever | Dial
    setting: Setting

    @property
    def words(self) -> str:
        """Where the lever stands then."""
        return position(self.lever, self.setting[self.lever.name])


def steps(levers: Levers, setting: Setting) -> Iterator[Step]:
    """Every lever moved to the position before its own and to that behind it."""
    for lever in levers:
        at = lever.values.index(setting[lever.name])
        for place in (at - 1, at + 1):
            if 0 <= place < len(lever.values):
                yield Step(lever, {**setting, lever.name: lever.values[place]})


def places(way: tuple[Step, ...]) -> list[str]:
    """Where a way leaves each lever that it moves: one that it moves twice stands at one place in the end."""
    return list({step.lever.name: step.words for step in way}.values())


def further(levers: Levers, ways: list[tuple[Step, ...]]) -> list[tuple[Step, ...]]:
    """The ways with one step more. Of ways to the same setting, one is enough."""
    longer = ((*way, step) for way in ways for step in steps(levers, way[-1].setting))
    return list({tuple(way[-1].setting.values()): way for way in longer}.values())
