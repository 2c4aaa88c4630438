"""Does it fit, and what is the cheapest change that makes it fit: a search over everything that saves memory.

Changes combine, so the answer is a set of them. Its price is the time that a token takes afterwards, relative to before
(the configuration that does not fit, as if memory were no limit), plus a little for every further change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import Any

from ironlaw.answers.changes import CHUNKS, SCALES, Change, allowed, changes, more_devices
from ironlaw.answers.cheapest import SPARE, Search, apply, finished, seconds_per_token
from ironlaw.config.resolved import Setup, require_no_arrays
from ironlaw.config.setup import as_setup
from ironlaw.core.units import Bytes, Count, Ratio
from ironlaw.memory.ledger import training_memory
from ironlaw.models.transformer import Transformer

LARGEST_BATCH = 2**20


@dataclass(frozen=True, slots=True)
class Tried:
    """A configuration with a change made.

    Attributes:
        option: The change, as on the command line.
        gives_up: What it costs besides time.
        saves: Bytes that the busiest device needs less than before the change.
        slowdown: Device-seconds per token over those before the change.
        device_total: Bytes that the busiest device then needs.
        fits: Whether it has them.
    """

    option: str
    gives_up: str
    saves: Bytes
    slowdown: Ratio
    device_total: Bytes
    fits: bool


@dataclass(frozen=True, slots=True)
class Fit:
    """The answer.

    Attributes:
        fits: Whether the configuration fits as it is.
        device_total: Bytes that its busiest device needs.
        capacity: Bytes that programs can allocate on it.
        largest_batch: The largest micro-batch that fits with everything else as it is; 0 when none does.
        single: Every change alone, those that fit first, then by slowdown.
        cheapest: Changes that together make it fit at the least cost, one after another; empty when none is needed or
            nothing helps.
        setup: The configuration with them.
        risky: The same with changes that may harm training allowed, where that is cheaper; else empty.
        devices: The fewest more devices that make it fit by dividing the model's state, or None.
    """

    fits: bool
    device_total: Bytes
    capacity: Bytes
    largest_batch: Count
    single: tuple[Tried, ...]
    cheapest: tuple[Tried, ...]
    setup: Setup
    risky: tuple[Tried, ...]
    devices: Tried | None

    @property
    def possible(self) -> bool:
        """Whether it fits, as it is or with changes."""
        return self.fits or bool(self.cheapest or self.risky or self.devices)


def fits(asked: Setup | str | Transformer | None = None, *words: Any, **choices: Any) -> bool:
    """Whether a configuration fits its device: what the busiest one needs at its peak, against what it can give.

    Args:
        asked: A `Setup`, or the model of one.
        words: Further words of `ironlaw.setup`.
        choices: Further ones by name.

    Raises:
        EngineError: As `ironlaw.setup`.
    """
    c = as_setup(asked, *words, **choices)
    return device_total(c) <= c.chip.usable_bytes


def fit(asked: Setup | str | Transformer | None = None, *words: Any, **choices: Any) -> Fit:
    """Whether a configuration fits its device, and what makes it fit at the least cost.

    Args:
        asked: A `Setup`, or the model of one.
        words: Further words of `ironlaw.setup`.
        choices: Further ones by name.

    Raises:
        EngineError: As `ironlaw.setup`.
    """
    c = as_setup(asked, *words, **choices)
    require_no_arrays(c)
    options = changes(c)
    single = sorted((_try(c, change) for change in _shown(c, options)), key=lambda t: (not t.fits, t.slowdown))
    total = device_total(c)
    if total <= c.chip.usable_bytes:
        return Fit(True, total, c.chip.usable_bytes, largest_batch(c), tuple(single), (), c, (), None)
    search = Search(c)
    safe = finished(search.cheapest([change for change in options if change.safe]))
    risky = finished(search.cheapest(options)) if any(not change.safe for change in options) else ()
    if risky and (all(change.safe for change in risky) or (safe and search.price(risky) > search.price(safe))):
        risky = ()
    return Fit(
        fits=False,
        device_total=total,
        capacity=c.chip.usable_bytes,
        largest_batch=largest_batch(c),
        single=tuple(single),
        cheapest=tuple(_one_by_one(c, safe)),
        setup=apply(c, safe),
        risky=tuple(_one_by_one(c, risky)) if risky != safe else (),
        devices=_more_devices(c),
    )


def device_total(c: Setup) -> Bytes:
    """Bytes that the busiest device needs."""
    return training_memory(c).device_total


def largest_batch(c: Setup) -> Count:
    """The largest micro-batch that fits, 0 when not even one sequence does."""
    low, high = 0, 1
    while high < LARGEST_BATCH and fits(c.at(high, c.sequence)):
        low, high = high, 2 * high
    return low + bisect_left(range(low + 1, high), True, key=lambda batch: not fits(c.at(batch, c.sequence)))


def _shown(c: Setup, options: Sequence[Change]) -> Iterator[Change]:
    """The changes worth a line each: of a scale only its mildest grade, the mildest that fits, and its strongest."""
    yield from (change for change in options if change.knob not in SCALES)
    for knob in SCALES:
        scale = [change for change in options if change.knob == knob]
        mildest = bisect_left(scale[:-1], True, key=lambda change: fits(change.apply(c)))
        yield from (scale[index] for index in sorted({0, mildest, len(scale) - 1}) if scale)


def _more_devices(c: Setup) -> Tried | None:
    """The fewest devices that make it fit by dividing the state, if need be with a chunked loss and checkpointing."""
    whole = {change.option: change for change in changes(c)}
    helpers = [whole[name] for name in (f"--loss chunked:{CHUNKS[0]}", "--checkpointing full") if name in whole]
    subsets = [tuple(helper for helper, used in zip(helpers, bits, strict=True) if used) for bits in
               product((False, True), repeat=len(helpers))]  # fmt: skip
    for _, choices in groupby(more_devices(c), key=lambda change: change.apply(c).layout.data):
        sets = [(change, *subset) for change in choices for subset in subsets]
        room = (1 - SPARE) * c.chip.usable_bytes
        changed = {taken: after for taken in sets if allowed(after := apply(c, taken))}
        fitting = [taken for taken, after in changed.items() if device_total(after) <= room]
        if fitting:
            return _try(c, *min(fitting, key=Search(c).price))
    return None


def _try(c: Setup, *taken: Change) -> Tried:
    after = apply(c, taken)
    total = device_total(after)
    return Tried(
        " ".join(change.option for change in taken),
        "; ".join(change.gives_up for change in taken if change.gives_up),
        device_total(c) - total,
        seconds_per_token(after) / seconds_per_token(c),
        total,
        total <= c.chip.usable_bytes,
    )


def _one_by_one(c: Setup, taken: Sequence[Change]) -> Iterator[Tried]:
    """The changes in the order of what each costs alone, with what each adds to those before it."""
    before = seconds_per_token(c)
    for change in sorted(taken, key=lambda change: seconds_per_token(change.apply(c)) / before):
        yield _try(c, change)
        c = change.apply(c)
