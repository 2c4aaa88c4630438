"""The sequence of requests of a training, tensor by tensor, as PyTorch's allocator sees it.

What each operation makes, keeps and frees follows the rules of `ironlaw.memory.liveness`; here they are played for
whole steps, block after block, so that what is freed early leaves the gaps that it leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ironlaw.config.resolved import Setup, stage_sections
from ironlaw.core.units import Bytes, Count
from ironlaw.graph.ir import Op, Section, Value
from ironlaw.memory.allocator import Block, CachingAllocator
from ironlaw.memory.liveness import kept_values
from ironlaw.memory.static import static_tensors

Key = tuple[str, str]
"""A tensor of a section by name and format: a cast and the cast back share a name, and whole values hash slowly."""
Schedule = list[tuple[list[tuple[Key, Bytes]], Bytes, list[Key]]]
"""Operation by operation: tensors that it makes, with their bytes; its scratch memory; tensors freed after it."""
PERSISTENT = ("parameters", "master")
MOST_PASSES = 4
"""Micro-batches that are played: from the third on segments stay as they are (`tests/engine/memory/test_phases.py`)."""
WORKSPACE: Bytes = 32 * 2**20
"""Scratch memory of the matrix library, as the ledger counts it."""


class Player:
    """Plays a training on one device against an allocator, phase by phase.

    Args:
        c: The setup, of one device.
        allocator: What serves the requests.
    """

    def __init__(self, c: Setup, allocator: CachingAllocator) -> None:
        self._c, self._allocator = c, allocator
        self._stage = c.stages[0]
        sections = stage_sections(c, self._stage)
        # Equal blocks are one section, several times.
        self._sections = [part for s in sections for part in [replace(s, count=1)] * s.count]
        self._schedules: dict[tuple[int, frozenset[Key], bool], Schedule] = {}
        self._static = [t for t in static_tensors(c, self._stage) if t.place == "device"]
        self._gradients: list[Block] = []
        self._states: list[Block] = []

    def phases(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """The phases of a training by name, each to be run in its turn."""
        yield "load", self.load
        yield "first step", self.step
        yield "step", self.step
        yield "evaluation", self.evaluate
        yield "save", lambda: None  # what is there is written, tensor by tensor

    def load(self) -> None:
        """Parameters, and copies of them that stay, and the matrix library's workspace."""
        if self._c.framework.backend == "cuda":
            self._take(WORKSPACE)
        for tensor in self._static:
            if tensor.component in PERSISTENT:
                self._take(tensor.dtype.bytes(tensor.elements), tensor.count)

    def step(self) -> None:
        """One optimizer step of its micro-batches; after a few of them each asks for what the one before has freed."""
        for _ in range(min(self._c.micro_batches, MOST_PASSES)):
            before, self._gradients = self._gradients, []
            self._micro_batch()
            if before:  # what is there already is added to
                for handle in self._gradients:
                    self._allocator.free(handle)
                self._gradients = before
        if not self._states:
            for tensor in self._static:
                if tensor.component == "optimizer":
                    self._states += self._take(tensor.dtype.bytes(tensor.elements), tensor.count)
        self._update()
        for handle in self._gradients:
            self._allocator.free(handle)
        self._gradients = []

    def evaluate(self) -> None:
        """A forward pass that keeps nothing, of the batch with which is evaluated."""
        if (about := self._c.evaluation) and about.batch:
            self._c = self._c.at(about.batch, self._c.sequence)
            self._schedules.clear()
        handed = None
        for section in self._sections:
            handed = self._forward(section, handed, ())[1]
        if handed is not None:
            self._allocator.free(handed)

    def _take(self, size: Bytes, count: Count = 1) -> list[Block]:
        return [self._allocator.allocate(size) for _ in range(count)]

    def _update(self) -> None:
        """Temporary tensors of the update: one a trained tensor at once, or one after the other."""
        c = self._c
        if c.update.kind == "fused" or c.update.offload != "none":
            return
        grads = [t for t in self._static if t.component == "gradients"]
        if c.update.kind == "for-loop" or c.optimizer.by_matrix:
            for t in grads:
                for handle in self._take(c.states.bytes(t.elements), c.optimizer.loop_temporaries):
                    self._allocator.free(handle)
            return
        held = [h for t in grads for h in self._take(c.states.bytes(t.elements), t.count * c.optimizer.temporaries)]
        for handle in held:
            self._allocator.free(handle)

    def _micro_batch(self) -> None:
        """Forward through all sections, and backward through them again."""
        every, selective = self._c.checkpointing.every, self._c.checkpointing.kind == "selective"
        kept: list[tuple[Section, dict[Key, Block], Block | None]] = []
        handed: Block | None = None
        for section in self._sections:
            again = bool(every) and section.name == "block"
            wanted = () if again else kept_values(section, selective=selective)
            entering = handed
            held, handed = self._forward(section, handed, wanted, keep_input=again)
            kept.append((section, held, entering if again else None))
        gradient = None
        if handed is not None:
            self._allocator.free(handed)
        for section, held, entering in reversed(kept):
            if entering is not None:  # what was thrown away is made again
                held, out = self._forward(section, entering, section.saved, keep_input=True)
                if out is not None and out not in held.values():
                    self._allocator.free(out)
            if section is self._sections[-1]:
                gradient = self._allocator.allocate(self._size(section.output))
            gradient = self._backward(section, held, gradient)
            if entering is not None and section.input not in section.saved:
                self._allocator.free(entering)
        if gradient is not None:
            self._allocator.free(gradient)

    def _size(self, value: Value) -> Bytes:
        return value.bytes(self._c.batch, self._c.sequence)

    def _forward(
        self, section: Section, entering: Block | None, kept: Sequence[Value], *, keep_input: bool = False
    ) -> tuple[dict[Key, Block], Block | None]:
        """The handles of what is kept, and of the section's result, which the next one takes over."""
        wanted = frozenset(map(_key, kept))
        given = None if section.input is None or entering is None else _key(section.input)
        allocator = self._allocator
        alive = {} if given is None or entering is None else {given: entering}
        for made, scratch, freed in self._schedule(section, wanted, given):
            for key, size in made:
                alive[key] = allocator.allocate(size)
            self._scratch(scratch)
            for key in freed:
                handle = alive.pop(key)
                if not (keep_input and key == given):
                    allocator.free(handle)
        held = {key: handle for key, handle in alive.items() if key in wanted}
        return held, alive.get(_key(section.output.storage))

    def _schedule(self, section: Section, wanted: frozenset[Key], given: Key | None) -> Schedule:
        """What a pass asks for; equal blocks ask for the same."""
        known = id(section), wanted, given is not None
        if known in self._schedules:
            return self._schedules[known]
        last: dict[Key, Count] = {}
        for index, op in enumerate(section.ops):
            for value in (*op.inputs, *op.outputs):
                last[_key(value.storage)] = index
        alive = dict.fromkeys(() if given is None else (given,))
        stays = wanted | {_key(section.output.storage)}
        schedule: Schedule = []
        for index, op in enumerate(section.ops):
            storages = {_key(v.storage): v.storage for v in (*op.outputs, *op.saved)}
            made = [(key, self._size(value)) for key, value in storages.items() if key not in alive]
            alive |= dict.fromkeys(key for key, _ in made)
            freed = [key for key in alive if last.get(key, index) <= index and key not in stays]
            for key in freed:
                del alive[key]
            schedule.append((made, op.forward_workspace(self._c.batch, self._c.sequence), freed))
        self._schedules[known] = schedule
        return schedule

    def _scratch(self, size: Bytes) -> None:
        if size:
            self._allocator.free(self._allocator.allocate(size))

    def _backward(self, section: Section, held: dict[Key, Block], gradient: Block | None) -> Block | None:
        """Gradients in reverse; frees what each operation alone still needed. Returns the input's gradient."""
        first: dict[Key, Count] = {}
        for index, op in enumerate(section.ops):
            for value in op.saved:
                first.setdefault(_key(value), index)
        freed: dict[Count, list[Key]] = {}
        for key, at in first.items():
            freed.setdefault(at, []).append(key)
        alive = {} if gradient is None else {_key(section.output): gradient}
        for index in range(len(section.ops) - 1, -1, -1):
            self._gradient(section.ops[index], alive)
            for key in freed.get(index, ()):
                if key in held:
                    self._allocator.free(held.pop(key))
        entering = alive.pop(_key(section.input), None) if section.input else None
        for handle in {*alive.values()} - {entering}:
            self._allocator.free(handle)
        return entering

    def _gradient(self, op: Op, alive: dict[Key, Block]) -> None:
        ending = [key for key in map(_key, op.outputs) if key in alive]
        if not ending:
            return
        if op.trains:
            self._gradients += self._take(self._c.gradients.bytes(op.trains))
        self._scratch(op.backward_workspace(self._c.batch, self._c.sequence))
        result, added = op.outputs[0], []
        for key, value in {_key(v): v for v in op.inputs if v.needs_gradient}.items():
            same = op.passes_gradient and value.size == result.size and value.dtype == result.dtype
            if same and _key(result) in alive:
                new = alive[_key(result)]
            else:
                new = self._allocator.allocate(self._size(value))
                if key in alive:
                    added.append(new)
            alive.setdefault(key, new)
        for key in ending:
            handle = alive.pop(key)
            if handle not in alive.values():
                self._allocator.free(handle)
        for handle in added:
            self._allocator.free(handle)


def _key(value: Value) -> Key:
    return value.name, value.dtype.name
