"""The step's peak: what is allocated at each moment at which memory can be largest.

Between the moments listed here memory changes steadily, block by block, so one of them is the largest. Activations
only shrink during the backward pass while gradients grow: which end of it is larger depends on the batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.config.layout import Stage
from engine.core.sizes import NOTHING, Size, as_size
from engine.core.units import Bytes, Count
from engine.graph.checkpointing import Checkpointing
from engine.memory.fully_sharded import FullySharded
from engine.memory.liveness import WorkingSet
from engine.memory.tensors import Candidate


@dataclass(frozen=True, slots=True)
class StepMemory:
    """What the moments of a step are made of. All sizes are polynomials in batch and sequence.

    Attributes:
        stage: The pipeline stage.
        checkpointing: What blocks recompute.
        chunks: Pieces of the loss.
        sets: Working sets of the sections by name.
        resident: Bytes there all the time: parameters, states, workspace, and gradients that outlive the step.
        gradients: Bytes of gradients that backward makes and the update frees.
        update: Bytes of temporary tensors during the update.
        head_gradient: Bytes of the output matrix's gradient.
        tied: Whether the output matrix is the token embedding, and both are on this stage.
        gradients_accrue: Whether gradients appear one by one during backward.
        whole: Groups of parameters that sharding has whole for a while.
    """

    stage: Stage
    checkpointing: Checkpointing
    chunks: Count
    sets: dict[str, WorkingSet]
    resident: Bytes
    gradients: Bytes
    update: Bytes
    head_gradient: Bytes
    tied: bool
    gradients_accrue: bool
    whole: FullySharded

    def candidates(self) -> tuple[Candidate, ...]:
        """What is allocated at every moment that may be the peak, in the order of the step."""
        found = (
            Candidate(c.moment, as_size(self.resident + self.whole.at(c.moment)) + c.whole, c.chunk)
            for c in self._moments()
        )
        return tuple(dict.fromkeys(found))

    def _moments(self) -> Iterator[Candidate]:
        block, blocks = self.sets["block"], self.stage.blocks
        every = self.checkpointing.every
        unit = block.entering if every else block.saved
        kept = -(-self.stage.kept_blocks // every) if every else self.stage.kept_blocks
        before = self.sets["embedding"].saved * self.stage.in_flight if self.stage.first else NOTHING
        # Autocast keeps every cast until the forward pass is over, also where blocks are checkpointed.
        casts = block.casts * blocks if every else NOTHING
        forward = block.passing if every else block.forward
        yield from _each("forward, last block", before + unit * (kept - 1) + casts, forward)
        left = pending = NOTHING
        if self.stage.last:
            norm, head = self.sets["norm"], self.sets["head"]
            saved = before + unit * kept
            yield from self._head(saved + norm.saved, casts)
            # The head and the embedding share a table: its first gradient is kept until the second is made,
            # unless gradients are added into a buffer at once.
            pending = as_size(self.head_gradient if self.tied and not self.gradients_accrue else 0)
            yield from _each("backward, final norm", saved + head.gradients + pending, norm.backward)
            left = head.gradients + norm.gradients
        yield from self._blocks(before + left + pending, block, unit, kept)
        if self.stage.first:
            embedding = self.sets["embedding"]
            waiting = unit * (kept - (-(-blocks // every) if every else blocks))
            others = embedding.saved * (self.stage.in_flight - 1)
            # The two halves of a shared table's gradient are added up into a third tensor.
            total = as_size(self.head_gradient if self.tied else 0)
            base = others + waiting + left + block.gradients * blocks + pending + total
            yield from _each("backward, embedding", base, embedding.backward)
        if self.whole.root:
            yield Candidate("last reduction", NOTHING, NOTHING)
        yield Candidate("optimizer step", as_size(self.gradients + self.update), NOTHING)

    def _head(self, saved: Size, casts: Size) -> Iterator[Candidate]:
        head = self.sets["head"]
        if self.chunks == 1:
            yield from _each("forward, loss", saved + casts, head.forward)
            yield from _each("backward, loss", saved, head.backward)
            return
        # Each chunk is checkpointed: the head's whole input stays, its gradient is filled chunk by chunk, and the
        # weight's gradient waits for all chunks; under autocast that is the gradient of the one 16-bit cast they share.
        waiting = head.casts if head.casts.terms else as_size(self.head_gradient)
        for size in head.passing:
            yield Candidate("forward, loss", saved + casts + head.casts + head.entering, size)
        for size in head.backward:
            yield Candidate("backward, loss", saved + 2 * head.entering + waiting, size)

    def _blocks(self, base: Size, block: WorkingSet, unit: Size, kept: Count) -> Iterator[Candidate]:
        """Backward through the blocks, at its ends: what is saved, recomputed and left behind in gradients."""
        every, blocks = self.checkpointing.every, self.stage.blocks
        if not every:
            yield from _each("backward, last block", base + unit * (kept - 1), block.backward)
            if self.whole.root and blocks > 2:  # only now is a block's reduction under way
                yield from _each("backward, next block", base + unit * (kept - 2) + block.gradients, block.backward)
            left = base + unit * (kept - blocks) + block.gradients * (blocks - 1)
            yield from _each("backward, first block", left, block.backward)
            return
        segments = -(-blocks // every)
        working = (*(size + block.entering for size in block.forward), *block.backward)
        own = 1 if block.saves_input else 0
        for name, index in (("last", segments - 1), ("middle", segments - 2), ("first", 0)):
            if index < 0 or (name == "middle" and index == 0):
                continue
            size = min(every, blocks - index * every)
            inputs = unit * (kept - (segments - 1 - index) - own)
            done = block.gradients * (blocks - index * every - size)
            yield from _each(f"backward, {name} segment", base + inputs + done + block.saved * (size - 1), working)


def _each(moment: str, base: Size, sizes: Iterable[Size]) -> Iterator[Candidate]:
    for size in sizes:
        yield Candidate(moment, base + size, NOTHING)
