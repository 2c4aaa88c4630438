"""What an out-of-memory message says, beside what the engine counts for that run, in lines.

PyTorch's allocator asks the driver for a segment when nothing that it has reserved is large enough: the message names
that segment, in steps of 2 MiB. Smaller tensors share segments of 2 and of 20 MiB, whose sizes tell nothing.
Source: PyTorch 2.13, `c10/cuda/CUDACachingAllocator.cpp`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ironlaw.answers.estimate import prepare
from ironlaw.config.resolved import Setup
from ironlaw.core.units import GB, GIB, Bytes
from ironlaw.files.facts import Observed
from ironlaw.files.messages import OTHERS
from ironlaw.memory.ledger import training_memory
from ironlaw.memory.tensors import MemoryLedger

MIB: Bytes = GIB // 1024
Said = tuple[str, str]
"""What, and how much or which."""
STEP: Bytes = 2 * MIB
"""Sizes of large segments are whole multiples of it."""
SHARED: Bytes = 20 * MIB
"""The largest segment that several tensors share."""
ROUNDED = 0.005
"""A message writes two digits behind the point: so far a size may be off, as a share of what stands before them."""
MOST_NAMED = 3


def lines(c: Setup, seen: Observed) -> tuple[Said, ...]:
    """What the message says and what the engine has for it; nothing where no allocation failed.

    Args:
        c: The setup that ran.
        seen: What the message says.

    Raises:
        EngineError: The setup's chip has no rate on record.
    """
    return tuple(_lines(c, seen)) if seen.asked is not None else ()


def _lines(c: Setup, seen: Observed) -> Iterator[Said]:
    asked = seen.asked or 0
    yield "It asked for", _gb(asked)
    if seen.free is not None:
        yield "Free on the card then", _gb(seen.free)
    if seen.allocated is not None:
        yield "Allocated then", _gb(seen.allocated)
    unused = (seen.reserved or 0) - (seen.allocated or seen.reserved or 0)
    if unused > 0:
        pieces = ", which is more than it asked for, but in pieces: expandable_segments:True joins them"
        yield "Reserved, not allocated", f"{_gb(unused)}{pieces if unused >= asked else ''}"
    others = (seen.in_use or 0) - (seen.process or seen.in_use or 0)
    if others > OTHERS:
        yield "Other programs had", f"{_gb(others)}, which no plan of this run counts"
    ledger = training_memory(c)
    yield from _expected(c, ledger, seen)
    if named := list(dict.fromkeys(_of_size(ledger, asked))):
        yield "A tensor of that size in the plan", "; ".join(named[:MOST_NAMED])


def _expected(c: Setup, ledger: MemoryLedger, seen: Observed) -> Iterator[Said]:
    found, peak = prepare(c)().calibrated, ledger.peak
    assert found is not None  # only networks of images have none
    band = found.allocated_peak
    yield (
        "The plan's fullest moment",
        f"{peak.name}: {_gb(peak.bytes)} allocated by the count, {_gb(band.low)} to {_gb(band.high)} by experience",
    )
    if seen.allocated is None:
        return
    needed = seen.allocated + (seen.asked or 0)
    first = next((moment for moment in ledger.moments if moment.bytes >= needed), None)
    yield (
        "With what it asked for",
        f"{_gb(needed)} allocated, which the plan has first at: {first.name} ({_gb(first.bytes)})"
        if first
        else f"{_gb(needed)} allocated, which no moment of the plan's step has",
    )


def _of_size(ledger: MemoryLedger, asked: Bytes) -> Iterator[str]:
    """The tensors for which the allocator would ask for so much."""
    if asked <= SHARED:
        return
    unit = MIB if asked < GIB else GIB
    for one in ledger.tensors:
        size = -(-one.dtype.bytes(one.elements) // STEP) * STEP
        if abs(size - asked) <= ROUNDED * unit + 1:
            yield f"{one.component}: {f'{one.part} ' if one.part else ''}{one.name} ({one.dtype.name})"


def _gb(size: float) -> str:
    return f"{size / GB:,.2f} GB"
