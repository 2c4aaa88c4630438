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

from ironlaw.core.units import Bytes

ROUNDING: Bytes = 512
SMALL: Bytes = 2**20
SMALL_SEGMENT: Bytes = 2 * 2**20
LARGE_SEGMENT: Bytes = 20 * 2**20
OWN_SEGMENT: Bytes = 10 * 2**20
SEGMENT_ROUNDING: Bytes = 2 * 2**20


_ADDRESSES = 2**96
"""More than there are addresses, also of what no card holds: a free block stands in its pool as its size times this
plus its address."""


@dataclass(slots=True, eq=False)
class Block:
    """A piece of a segment, with the pieces beside it. Who asked for it gives it back."""

    address: Bytes
    size: Bytes
    pool: list[int]
    free: bool = False
    before: Block | None = None
    after: Block | None = None


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
    _small: list[int] = field(default_factory=list)
    _large: list[int] = field(default_factory=list)
    _at: dict[Bytes, Block] = field(default_factory=dict)

    def allocate(self, size: Bytes) -> Block:
        """Hand out a block."""
        # A whole number: addresses beyond 2**53 are no exact floats, and blocks are found by them.
        size = max(ROUNDING, int(-(-size // ROUNDING)) * ROUNDING)
        small = size <= SMALL
        pool = self._small if small else self._large
        place = bisect_left(pool, size * _ADDRESSES)
        block = self._at.pop(pool.pop(place) % _ADDRESSES) if place < len(pool) else self._segment(size, pool)
        left = block.size - size
        if left >= ROUNDING if small else left > SMALL:
            rest = Block(block.address + size, left, pool, False, block, block.after)
            if block.after:
                block.after.before = rest
            block.after, block.size = rest, size
            self._offer(rest)
        block.free = False
        self.allocated += block.size
        if self.allocated > self.allocated_peak:
            self.allocated_peak = self.allocated
        return block

    def free(self, block: Block) -> None:
        """Take a block back and join it with free neighbors."""
        self.allocated -= block.size
        before, after = block.before, block.after
        if before and before.free:
            self._leave(before)
            block = self._joined(before, block)
        if after and after.free:
            self._leave(after)
            block = self._joined(block, after)
        self._offer(block)

    @staticmethod
    def _joined(first: Block, second: Block) -> Block:
        first.size += second.size
        first.after = second.after
        if second.after:
            second.after.before = first
        return first

    def _leave(self, block: Block) -> None:
        del block.pool[bisect_left(block.pool, block.size * _ADDRESSES + block.address)]
        del self._at[block.address]

    def _offer(self, block: Block) -> None:
        block.free = True
        insort(block.pool, block.size * _ADDRESSES + block.address)
        self._at[block.address] = block

    def _segment(self, size: Bytes, pool: list[int]) -> Block:
        if pool is self._small:
            whole = SMALL_SEGMENT
        elif size < OWN_SEGMENT:
            whole = LARGE_SEGMENT
        else:
            whole = -(-size // SEGMENT_ROUNDING) * SEGMENT_ROUNDING
        self.reserved += whole
        self._end += whole
        return Block(self._end - whole, whole, pool)
