"""Every recipe that wins on one laptop, the one with the fewest changes and the fastest, found by a search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from itertools import product

from explorable import live
from ironlaw import step_time

from .settings import BATCHES, OFFLOADS, OPTIMIZERS, PRECISIONS, Setting, fits

START = Setting()


@dataclass(frozen=True)
class WinningRecipe:
    """A setting that fits and trains, with what it takes and what it gives."""

    setting: Setting

    @property
    def changes(self) -> int:
        """Levers that stand elsewhere than at the start."""
        return sum(getattr(self.setting, one.name) != getattr(START, one.name) for one in fields(START))

    @cached_property
    def speed(self) -> float:
        """Tokens per second of one laptop, by the engine's step."""
        return float(step_time(self.setting.training).tokens_per_second)


def wins(setting: Setting) -> bool:
    """Whether it fits and trains."""
    return setting.trains and fits(setting)


@cache
def recipes() -> tuple[WinningRecipe, ...]:
    """For each position of the other levers, on one laptop, the largest batch that wins, which is the fastest."""
    return tuple(WinningRecipe(one) for one in largest())


def largest() -> Iterator[Setting]:
    """The search: memory grows with the batch, so where a batch of one does not win, no other does."""
    switch = (False, True)
    for precision, optimizer, again, chunked, early, eight, offload in product(
        PRECISIONS, OPTIMIZERS, switch, switch, switch, switch, OFFLOADS
    ):
        # Skip what equals another setting: 8-bit states without Adam, and offloading gradients that backward has freed.
        if (eight and optimizer != "adam") or (early and offload == "gradients"):
            continue
        one = Setting(precision, optimizer, again, chunked, BATCHES[-1], early, eight, offload)
        if wins(one):
            yield next(at for at in (replace(one, batch=size) for size in BATCHES) if wins(at))


@cache
def shortest() -> WinningRecipe:
    """The fewest changes; of several the fastest."""
    return min(recipes(), key=lambda one: (one.changes, -one.speed))


@cache
def fastest() -> WinningRecipe:
    """The most tokens per second."""
    return max(recipes(), key=lambda one: one.speed)


def success(setting: Setting) -> live.Success:
    """The moment at which the challenge is won: how it compares with the best."""
    mine, few, quick = WinningRecipe(setting), shortest(), fastest()
    levers = f"You changed {mine.changes} levers"
    if mine.changes <= few.changes:
        short = f"{levers}, and no recipe changes fewer."
    else:
        short = f"{levers}; {few.changes} are enough: {few.setting.words}."
    rate = f"{mine.speed:,.0f} tokens per second{' on each laptop' if setting.laptops > 1 else ''}"
    if mine.speed >= quick.speed:
        best = f"At {rate} it is also the fastest on one laptop."
    else:
        best = f"Yours makes {rate}; the fastest on one laptop makes {quick.speed:,.0f}, with {quick.setting.words}."
    return live.Success("It fits, and it trains", f"{short} {best}")
