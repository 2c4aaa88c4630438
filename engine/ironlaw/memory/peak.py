"""The step's peak: what is allocated at each moment at which memory can be largest.

Between the moments listed here memory changes steadily, block by block, so one of them is the largest. Activations
only shrink during the backward pass while gradients grow: which end of it is larger depends on the batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ironlaw.config.layout import Stage
from ironlaw.core.sizes import NOTHING, Size, as_size
from ironlaw.core.units import Bytes, Count
from ironlaw.memory.blocks import EqualBlocks, MixedBlocks, each
from ironlaw.memory.fully_sharded import FullySharded
from ironlaw.memory.linear_loss import LinearLoss
from ironlaw.memory.liveness import WorkingSet
from ironlaw.memory.tensors import Candidate


@dataclass(frozen=True, slots=True)
class StepMemory:
    """What the moments of a step are made of. All sizes are polynomials in batch and sequence.

    Attributes:
        stage: The pipeline stage.
        chunks: Pieces of the loss.
        sets: Working sets of embedding, final norm and head by name.
        blocks: What the blocks keep and need.
        resident: Bytes there all the time: parameters, states, workspace, and gradients that outlive the step.
        gradients: Bytes of gradients that backward makes and the update frees.
        update: Bytes of temporary tensors during the update.
        head_gradient: Bytes of the output matrix's gradient.
        tied: Whether the output matrix is the token embedding, and both are on this stage.
        gradients_accrue: Whether gradients appear one by one during backward.
        whole: Groups of parameters that sharding has whole for a while.
        logits: Bytes of logits that are held through the backward pass although nothing in it needs them.
        linear: What a fused linear loss holds, if it is one.
        leaf: The first block's input, where it is held besides.
    """

    stage: Stage
    chunks: Count
    sets: dict[str, WorkingSet]
    blocks: EqualBlocks | MixedBlocks
    resident: Bytes
    gradients: Bytes
    update: Bytes
    head_gradient: Bytes
    tied: bool
    gradients_accrue: bool
    whole: FullySharded
    logits: Size = NOTHING
    linear: LinearLoss | None = None
    leaf: Size = NOTHING

    def candidates(self) -> tuple[Candidate, ...]:
        """What is allocated at every moment that may be the peak, in the order of the step."""
        found = (
            Candidate(c.moment, as_size(self.resident + self.whole.at(c.moment)) + c.whole, c.chunk)
            for c in self._moments()
        )
        return tuple(dict.fromkeys(found))

    def _moments(self) -> Iterator[Candidate]:
        blocks = self.blocks
        before = self.leaf
        if self.stage.first:
            before = before + self.sets["embedding"].saved * self.stage.in_flight
        if self.whole.ahead:  # where all is trained, the backward pass holds as much and gradients besides
            yield Candidate("forward, first gather", before, NOTHING)
            yield Candidate("forward, last gather", before + blocks.before_last, NOTHING)
        yield from blocks.forward(before)
        left = pending = NOTHING
        if self.stage.last:
            norm, head = self.sets["norm"], self.sets["head"]
            saved = before + blocks.kept
            # Autocast keeps every cast until the forward pass is over, also where blocks are checkpointed.
            yield from self._head(saved + norm.saved, blocks.casts)
            # The head and the embedding share a table: its first gradient is kept until the second is made,
            # unless gradients are added into a buffer at once.
            pending = as_size(self.head_gradient if self.tied and not self.gradients_accrue else 0)
            yield from each("backward, final norm", saved + self.logits + head.gradients + pending, norm.backward)
            left = head.gradients + norm.gradients
        before = before + self.logits
        yield from blocks.backward(before + left + pending)
        if self.stage.first:
            embedding = self.sets["embedding"]
            others = embedding.saved * (self.stage.in_flight - 1)
            # The two halves of a shared table's gradient are added up into a third tensor.
            total = as_size(self.head_gradient if self.tied else 0)
            base = others + self.logits + blocks.waiting + left + blocks.gradients + pending + total
            yield from each("backward, embedding", base, embedding.backward)
        if self.whole.root:
            yield Candidate("last reduction", NOTHING, NOTHING)
        yield Candidate("optimizer step", as_size(self.gradients + self.update), NOTHING)

    def _head(self, saved: Size, casts: Size) -> Iterator[Candidate]:
        head = self.sets["head"]
        if self.linear:
            for size in self.linear.pieces:
                yield Candidate("forward, loss", saved + casts + self.linear.whole, size)
            yield Candidate("backward, loss", saved + self.linear.kept, NOTHING)
            return
        if self.chunks == 1:
            yield from each("forward, loss", saved + casts, head.forward)
            yield from each("backward, loss", saved + self.logits, head.backward)
            return
        # Each chunk is checkpointed: the head's whole input stays, its gradient is filled chunk by chunk, and the
        # weight's gradient waits for all chunks; under autocast that is the gradient of the one 16-bit cast they share.
        waiting = head.casts if head.casts.terms else as_size(self.head_gradient)
        for size in head.passing:
            yield Candidate("forward, loss", saved + casts + head.casts + head.entering, size)
        for size in head.backward:
            yield Candidate("backward, loss", saved + 2 * head.entering + waiting, size)
