"""What a stage's blocks keep and need, block after block: of one kind, or of several in any order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ironlaw.config.layout import Stage
from ironlaw.core.sizes import NOTHING, Size, total
from ironlaw.core.units import Count
from ironlaw.memory.liveness import WorkingSet
from ironlaw.memory.tensors import Candidate


@dataclass(frozen=True)
class EqualBlocks:
    """Blocks of one kind.

    Attributes:
        block: The working set of each.
        stage: The pipeline stage.
        every: Blocks per checkpointed segment; 0 where nothing is computed again.
        sharded: Whether PyTorch divides parameters among replicas, and so reduces gradients block by block.
        away: Whether the inputs of blocks wait in the host's memory.
    """

    block: WorkingSet
    stage: Stage
    every: Count
    sharded: bool
    away: bool = False

    @property
    def kept(self) -> Size:
        """Bytes that all blocks of all micro-batches in flight keep for the backward pass."""
        return self._unit * self._kept

    @property
    def casts(self) -> Size:
        """Bytes of casts of weights, where they are not among what is kept."""
        return self.block.casts * self.stage.blocks if self.every else NOTHING

    @property
    def before_last(self) -> Size:
        """Bytes kept when the last block begins, its input included."""
        return self._unit * (self._kept - 1) + self.block.entering + self.casts

    @property
    def gradients(self) -> Size:
        """Bytes of gradients that the backward pass of all blocks leaves."""
        return self.block.gradients * self.stage.blocks

    @property
    def waiting(self) -> Size:
        """Bytes kept for micro-batches whose backward pass has not begun."""
        blocks = self.stage.blocks
        return self._unit * (self._kept - (-(-blocks // self.every) if self.every else blocks))

    @property
    def _unit(self) -> Size:
        return NOTHING if self.away else self.block.entering if self.every else self.block.saved

    @property
    def _kept(self) -> Count:
        return -(-self.stage.kept_blocks // self.every) if self.every else self.stage.kept_blocks

    def forward(self, before: Size) -> Iterator[Candidate]:
        """The end of the forward pass."""
        sizes = self.block.passing if self.every else self.block.forward
        yield from each("forward, last block", before + self._unit * (self._kept - 1) + self.casts, sizes)

    def backward(self, base: Size) -> Iterator[Candidate]:
        """Backward through the blocks, at its ends: what is saved, recomputed and left behind in gradients."""
        every, blocks, block, unit, kept = self.every, self.stage.blocks, self.block, self._unit, self._kept
        if not every:
            yield from each("backward, last block", base + unit * (kept - 1), block.backward)
            if self.sharded and blocks > 2:  # only now is a block's reduction under way
                yield from each("backward, next block", base + unit * (kept - 2) + block.gradients, block.backward)
            left = base + unit * (kept - blocks) + block.gradients * (blocks - 1)
            yield from each("backward, first block", left, block.backward)
            return
        segments = -(-blocks // every)
        working = (*block.again, *block.backward)
        own = 1 if block.saves_input else 0
        for name, index in (("last", segments - 1), ("middle", segments - 2), ("first", 0)):
            if index < 0 or (name == "middle" and index == 0):
                continue
            size = min(every, blocks - index * every)
            inputs = unit * (kept - (segments - 1 - index) - own)
            done = block.gradients * (blocks - index * every - size)
            yield from each(f"backward, {name} segment", base + inputs + done + block.saved * (size - 1), working)


@dataclass(frozen=True)
class MixedBlocks:
    """Blocks of several kinds, or trained in several ways.

    Where every block is computed again by itself, or none is, the ends of the first and of the last runs of each kind
    are looked at: between them memory changes steadily where the kinds alternate in a fixed pattern, as all published
    ones do.

    Attributes:
        runs: Kinds in order, each with how many blocks of it follow each other.
        every: Blocks per checkpointed segment; 0 where nothing is computed again.
        in_flight: Micro-batches of a pipeline's stage that are kept at once.
        away: Whether the inputs of blocks wait in the host's memory.
    """

    runs: tuple[tuple[WorkingSet, Count], ...]
    every: Count
    in_flight: Count = 1
    away: bool = False

    @property
    def kept(self) -> Size:
        """Bytes that all blocks of all micro-batches in flight keep for the backward pass."""
        return self._kept * self.in_flight

    @property
    def _kept(self) -> Size:
        """Those of one micro-batch."""
        if self.every > 1:
            return total(block.entering for block in self._in_order[:: self.every])
        return total(self._unit(block) * count for block, count in self.runs)

    @property
    def casts(self) -> Size:
        """Bytes of casts of weights, where they are not among what is kept."""
        return total(block.casts * count for block, count in self.runs) if self.every else NOTHING

    @property
    def before_last(self) -> Size:
        """Bytes kept when the last block begins, its input included."""
        last = self._in_order[-1]
        return self.kept + self._unit(last) * -1 + last.entering + self.casts

    @property
    def gradients(self) -> Size:
        """Bytes of gradients that the backward pass of all blocks leaves."""
        return total(block.gradients * count for block, count in self.runs)

    @property
    def waiting(self) -> Size:
        """Bytes kept for micro-batches whose backward pass has not begun."""
        return self._kept * (self.in_flight - 1)

    @cached_property
    def _in_order(self) -> tuple[WorkingSet, ...]:
        return tuple(block for block, count in self.runs for _ in range(count))

    def _unit(self, block: WorkingSet) -> Size:
        return NOTHING if self.away else block.entering if self.every else block.saved

    @cached_property
    def _places(self) -> tuple[tuple[int, WorkingSet, Size, Size], ...]:
        """Where to look: a block's number, its working set, what blocks before it keep, gradients of those after it."""
        ends: dict[WorkingSet, list[tuple[int, Size, Size]]] = {}
        number, kept, left = 0, self.waiting, self.gradients
        for block, count in self.runs:
            unit = self._unit(block)
            for step in sorted({0, count - 1}):
                after = left + block.gradients * (-1 - step)
                ends.setdefault(block, []).append((number + step, kept + unit * step, after))
            number, kept, left = number + count, kept + unit * count, left + block.gradients * -count
        looked = [(block, place) for block, found in ends.items() for place in dict.fromkeys(found[:2] + found[-2:])]
        return tuple((number, block, kept, after) for block, (number, kept, after) in looked)

    def forward(self, before: Size) -> Iterator[Candidate]:
        """The last block of each kind; of segments of several blocks the last one."""
        last = {block: kept for _, block, kept, _ in sorted(self._places, key=lambda place: place[0])}
        if self.every > 1:
            blocks, block = self._in_order, self._in_order[-1]
            first = (len(blocks) - 1) // self.every * self.every
            last = {block: self.kept + blocks[first].entering * -1}
        for block, kept in last.items():
            sizes = block.passing if self.every else block.forward
            yield from each("forward, last block", before + kept + self.casts, sizes)

    def backward(self, base: Size) -> Iterator[Candidate]:
        """Backward through the blocks, at the ends of runs, or through segments of several blocks."""
        if self.every > 1:
            yield from self._segments(base)
            return
        blocks = sum(count for _, count in self.runs)
        what = "segment" if self.every else "block"
        for number, block, kept, after in sorted(self._places, key=lambda place: -place[0]):
            name = {blocks - 1: f"last {what}", 0: f"first {what}"}.get(number, f"{what} {number + 1}")
            sizes = block.backward
            if self.every:
                sizes = (*block.again, *sizes)
                kept = kept + (NOTHING if self.away or block.saves_input else block.entering)
            yield from each(f"backward, {name}", base + kept + after, sizes)

    def _segments(self, base: Size) -> Iterator[Candidate]:
        """The last segment, the one before it, the first, and those where kinds change."""
        every, order, inputs, done = self.every, self._in_order, self.kept, NOTHING
        starts = range(0, len(order), every)
        behind: tuple[WorkingSet, ...] | None = None
        for start in reversed(starts):
            own = order[start : start + every]
            name = "last" if start == starts[-1] else "first" if start == 0 else "middle"
            if name != "middle" or start == starts[-1] - every or own != behind:
                here = inputs + (own[0].entering * -1 if own[0].saves_input else NOTHING)
                for block in dict.fromkeys(own):
                    rest = total(one.saved for one in own) + block.saved * -1
                    working = (*block.again, *block.backward)
                    yield from each(f"backward, {name} segment", base + here + done + rest, working)
            inputs, done, behind = inputs + own[0].entering * -1, done + total(one.gradients for one in own), own


def each(moment: str, base: Size, sizes: Iterable[Size]) -> Iterator[Candidate]:
    """A candidate for each of a working set's sizes, on top of what is there besides."""
    for size in sizes:
        yield Candidate(moment, base + size, NOTHING)
