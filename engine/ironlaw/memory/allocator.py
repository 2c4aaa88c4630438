"""PyTorch's caching allocator: which segments it asks the driver for, given a sequence of requests.

A request is rounded up to 512 bytes. Requests of at most 1 MiB come from segments of 2 MiB; those below 10 MiB from
segments of 20 MiB; larger ones get a segment of their own size, rounded up to 2 MiB. The smallest free block that is
large enough serves a request; what is left of it stays free if it is at least 512 bytes, or in the pool of large blocks
more than 1 MiB. Freed neighbors join. Segments are kept.

Source: PyTorch 2.13, `c10/cuda/CUDACachingAllocator.cpp` (`round_size`, `get_allocation_size`, `get_free_block`,
`should_split`, `free_block`), without the options of `PYTORCH_CUDA_ALLOC_CONF`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field

from ironlaw.core.units import Bytes, Count

ROUNDING: Bytes = 512
SMALL: Bytes = 2**20
SMALL_SEGMENT: Bytes = 2 * 2**20
LARGE_SEGMENT: Bytes = 20 * 2**20
OWN_SEGMENT: Bytes = 10 * 2**20
SEGMENT_ROUNDING: Bytes = 2 * 2**20


@dataclass(slots=True)
class _Block:
    """A piece of a segment, with the pieces beside it."""

    address: Bytes
    size: Bytes
    small: bool
    free: bool = True
    before: _Block | None = None
    after: _Block | None = None


@dataclass(slots=True)
class CachingAllocator:
    """The allocator of one device, on one stream.

    Attributes:
        allocated: Bytes handed out now, rounded as PyTorch counts them.
        reserved: Bytes of all segments.
        allocated_peak: The most that was handed out at once.
    """

    allocated: Bytes = 0
    reserved: Bytes = 0
    allocated_peak: Bytes = 0
    _end: Bytes = 0
    _blocks: dict[Count, _Block] = field(default_factory=dict)
    _pools: dict[bool, list[tuple[Bytes, Bytes]]] = field(default_factory=lambda: {True: [], False: []})
    _at: dict[Bytes, _Block] = field(default_factory=dict)
    _handles: Count = 0

    def allocate(self, size: Bytes) -> Count:
        """Hand out a block; returns its handle."""
        size = max(ROUNDING, -(-size // ROUNDING) * ROUNDING)
        small = size <= SMALL
        pool = self._pools[small]
        place = bisect_left(pool, (size, 0))
        block = self._at.pop(pool.pop(place)[1]) if place < len(pool) else self._segment(size, small)
        left = block.size - size
        if left >= ROUNDING if small else left > SMALL:
            rest = _Block(block.address + size, left, small, True, block, block.after)
            if block.after:
                block.after.before = rest
            block.after, block.size = rest, size
            self._offer(rest)
        block.free = False
        self.allocated += block.size
        self.allocated_peak = max(self.allocated_peak, self.allocated)
        self._handles += 1
        self._blocks[self._handles] = block
        return self._handles

    def free(self, handle: Count) -> None:
        """Take a block back and join it with free neighbors."""
        block = self._blocks.pop(handle)
        self.allocated -= block.size
        block.free = True
        for other in (block.before, block.after):
            if other and other.free:
                pool = self._pools[other.small]
                del pool[bisect_left(pool, (other.size, other.address))]
                del self._at[other.address]
                first, second = (other, block) if other is block.before else (block, other)
                first.size += second.size
                first.after = second.after
                if second.after:
                    second.after.before = first
                block = first
        self._offer(block)

    def _segment(self, size: Bytes, small: bool) -> _Block:
        if small:
            whole = SMALL_SEGMENT
        elif size < OWN_SEGMENT:
            whole = LARGE_SEGMENT
        else:
            whole = -(-size // SEGMENT_ROUNDING) * SEGMENT_ROUNDING
        self.reserved += whole
        self._end += whole
        return _Block(self._end - whole, whole, small)

    def _offer(self, block: _Block) -> None:
        block.free = True
        insort(self._pools[block.small], (block.size, block.address))
        self._at[block.address] = block
