"""The step's peak: what is allocated at each moment at which memory can be largest.

Between the moments listed here memory changes steadily, block by block, so one of them is the largest. Activations
only shrink during the backward pass while gradients grow: which end of it is larger depends on the batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.arrays import maximum
from engine.layout import Stage
from engine.liveness import WorkingSet
from engine.recipe import Recipe
from engine.sizes import Size
from engine.tensors import Moment
from engine.units import Bytes, Count


@dataclass(frozen=True, slots=True)
class StepMemory:
    """What the moments of a step are made of.

    Attributes:
        stage: The pipeline stage.
        recipe: The choices of the step.
        sets: Working sets of the sections by name.
        resident: Bytes there all the time: parameters, states, and gradients that outlive the step.
        gradients: Bytes of gradients that backward makes and the update frees.
        update: Bytes of temporary tensors during the update.
        head_gradient: Bytes of the output matrix's gradient.
        tied: Whether the output matrix is the token embedding, and both are on this stage.
        gradients_accrue: Whether gradients appear one by one during backward.
    """

    stage: Stage
    recipe: Recipe
    sets: dict[str, WorkingSet]
    resident: Bytes
    gradients: Bytes
    update: Bytes
    head_gradient: Bytes
    tied: bool
    gradients_accrue: bool

    def moments(self, batch: Count, sequence: Count) -> tuple[Moment, ...]:
        """The moments in the order of the step, for a micro-batch."""
        return tuple(Moment(name, self.resident + extra) for name, extra in self._moments(batch, sequence))

    def _moments(self, batch: Count, sequence: Count) -> Iterator[tuple[str, Bytes]]:
        at = _Evaluate(batch, sequence)
        block, blocks = self.sets["block"], self.stage.blocks
        every = self.recipe.checkpointing.every
        unit = at.size(block.entering if every else block.saved)
        kept = -(-self.stage.kept_blocks // every) if every else self.stage.kept_blocks
        before = at.size(self.sets["embedding"].saved) * self.stage.in_flight if self.stage.first else 0
        # Autocast keeps every cast until the forward pass is over, also where blocks are checkpointed.
        casts = at.size(block.casts) * blocks if every else 0
        left: Bytes = 0
        pending: Bytes = 0
        yield (
            "forward, last block",
            before + unit * (kept - 1) + casts + at.largest(block.passing if every else block.forward),
        )
        if self.stage.last:
            norm = self.sets["norm"]
            saved = before + unit * kept
            yield from self._head(at, saved + at.size(norm.saved), casts)
            left = at.size(self.sets["head"].gradients)
            # A shared table's gradient waits for its second half unless it can go where it stays.
            pending = self.head_gradient if self.tied and not self.gradients_accrue else 0
            yield "backward, final norm", saved + left + pending + at.largest(norm.backward)
            left = left + at.size(norm.gradients)
        for name, extra in self._blocks(at, block, unit, kept):
            yield name, before + left + pending + extra
        left = left + at.size(block.gradients) * blocks
        if self.stage.first:
            embedding = self.sets["embedding"]
            waiting = unit * (kept - (-(-blocks // every) if every else blocks))
            rest = before - at.size(embedding.saved) + waiting
            # The two halves of a shared table's gradient are added up into a third tensor.
            total = self.head_gradient if self.tied else 0
            yield "backward, embedding", rest + left + pending + total + at.largest(embedding.backward)
        yield "optimizer step", self.gradients + self.update

    def _head(self, at: _Evaluate, saved: Bytes, casts: Bytes) -> Iterator[tuple[str, Bytes]]:
        head = self.sets["head"]
        if self.recipe.chunks == 1:
            yield "forward, loss", saved + casts + at.largest(head.forward)
            yield "backward, loss", saved + at.largest(head.backward)
            return
        # Each chunk is checkpointed: the head's whole input stays, its gradient is filled chunk by chunk, and the
        # weight's gradient waits for all chunks; under autocast that is the gradient of the one 16-bit cast they share.
        chunk = _Evaluate(at.batch, -(-at.sequence // self.recipe.chunks))
        whole = at.size(head.entering)
        cast = at.size(head.casts)
        yield "forward, loss", saved + casts + cast + whole + chunk.largest(head.passing)
        waiting = cast if head.casts.terms else self.head_gradient
        yield "backward, loss", saved + 2 * whole + waiting + chunk.largest(head.backward)

    def _blocks(self, at: _Evaluate, block: WorkingSet, unit: Bytes, kept: Count) -> Iterator[tuple[str, Bytes]]:
        """Backward through the blocks, at its ends: what is saved, recomputed and left behind in gradients."""
        every, blocks = self.recipe.checkpointing.every, self.stage.blocks
        gradients, saved = at.size(block.gradients), at.size(block.saved)
        backward = at.largest(block.backward)
        if not every:
            yield "backward, last block", unit * (kept - 1) + backward
            yield "backward, first block", unit * (kept - blocks) + gradients * (blocks - 1) + backward
            return
        segments = -(-blocks // every)
        recompute = at.largest(block.forward) + at.size(block.entering)
        own = 1 if block.saves_input else 0
        for name, index in (("last", segments - 1), ("middle", segments - 2), ("first", 0)):
            if index < 0 or (name == "middle" and index == 0):
                continue
            size = min(every, blocks - index * every)
            inputs = unit * (kept - (segments - 1 - index) - own)
            done = gradients * (blocks - index * every - size)
            working = saved * (size - 1) + maximum(recompute, backward)
            yield f"backward, {name} segment", inputs + done + working  # type: ignore[misc]  # whole numbers


@dataclass(frozen=True, slots=True)
class _Evaluate:
    """Evaluates polynomials for one batch and sequence."""

    batch: Count
    sequence: Count

    def size(self, size: Size) -> Bytes:
        return size(self.batch, self.sequence)

    def largest(self, sizes: Iterable[Size]) -> Bytes:
        result: float = 0
        for size in sizes:
            result = maximum(result, self.size(size))
        return result  # type: ignore[return-value]  # bytes are whole numbers
