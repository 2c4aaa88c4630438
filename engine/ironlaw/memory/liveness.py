"""Liveness: which tensors of an operation list are in memory while each operation runs, forward and backward.

The rules are PyTorch's. Forward, a tensor lives until its last use or, if saved, until backward. Backward runs the
list in reverse: an operation's saved tensors and its result's gradient are freed once it is done; the gradient of an
input is a new tensor unless the operation passes it on unchanged; a second contribution is added in place when nobody
else refers to the first, and otherwise into a new tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Literal

from ironlaw.core.sizes import NOTHING, Size, as_size, total
from ironlaw.graph.checkpointing import NONE, Checkpointing
from ironlaw.graph.ir import Op, Section, Value
from ironlaw.graph.kernels import recomputed
from ironlaw.numerics.dtypes import DType

GradientFate = Literal["accrue", "present", "dropped"]
"""Where a parameter's gradient goes: a new tensor that stays, a tensor that exists already, or an immediate update."""


@dataclass(frozen=True, slots=True)
class WorkingSet:
    """Bytes of one occurrence of a section, as polynomials in batch and sequence.

    Attributes:
        saved: Kept from forward to backward.
        casts: Casts of weights that autocast keeps.
        entering: The section's input.
        forward: Alive while each operation runs forward, what was saved before included; only those that can be
            the largest for some batch and sequence.
        passing: As `forward`, when nothing is saved because it will be recomputed.
        backward: Alive while each operation runs backward, with parameter gradients of this occurrence.
        gradients: Parameter gradients that backward leaves behind.
        saves_input: Whether the section's input is among what is saved.
        again: Alive while a checkpoint computes each operation again, with the gradients that are there when the first
            operation that needs something saved begins its backward.
    """

    saved: Size
    casts: Size
    entering: Size
    forward: tuple[Size, ...]
    passing: tuple[Size, ...]
    backward: tuple[Size, ...]
    gradients: Size
    saves_input: bool
    again: tuple[Size, ...]


@lru_cache(maxsize=512)
def working_set(section: Section, gradients: DType, fate: GradientFate, *, policy: Checkpointing = NONE) -> WorkingSet:
    """The working set of a section.

    Args:
        section: The operations.
        gradients: Format of parameter gradients.
        fate: Where parameter gradients go.
        policy: What is thrown away of the section and computed again.
    """
    kept = kept_values(section, selective=policy.kind == "selective")
    held: tuple[Value, ...] = ()
    again, entering = recomputed(section), () if section.input is None else (section.input.storage,)
    if policy.reentrant:  # its frames hold them until the section's backward is over
        again, held = section.ops, (*entering, section.output.storage)
        kept = tuple(dict.fromkeys((*kept, *entering)))
    # An input that comes back from the host is an argument of what computes the section again.
    there = (*kept, *entering) if policy.away else kept
    trained = sum(op.trains for op in section.ops)
    left = as_size(gradients.bytes(trained)) if fate == "accrue" else NOTHING
    back = _Backward(section, gradients, fate, kept, held)
    backward = undominated(back.run())
    return WorkingSet(
        saved=_total(kept),
        casts=_total(cached_casts(section)),
        entering=section.input.byte_size if section.input else NOTHING,
        forward=undominated(_forward(section, kept)),
        passing=undominated(_forward(section, ())),
        backward=backward,
        gradients=left,
        saves_input=section.input in kept,
        again=undominated(size + back.waiting for size in islice(_forward(section, there), len(again))),
    )


def kept_values(section: Section, *, selective: bool) -> tuple[Value, ...]:
    """What a section keeps for backward. With `selective`, the attention region keeps only what enters it."""
    if not selective:
        return section.saved
    inside = [op for op in section.ops if op.region == "attention"]
    made_inside = {value.storage for op in inside for value in op.outputs}
    entering = [value.storage for op in inside for value in op.inputs if value.storage not in made_inside]
    outside = [value for op in section.ops if op.region != "attention" for value in op.saved]
    return tuple(dict.fromkeys([*outside, *(value for value in entering if value.needs_gradient)]))


def cached_casts(section: Section) -> Iterator[Value]:
    """Casts of trained weights: autocast keeps those alone until the forward pass is over."""
    return (value for op in section.ops if op.trains_matrix for value in op.saved if value.component == "casts")


def undominated(sizes: Iterable[Size]) -> tuple[Size, ...]:
    """Those sizes that are the largest for some batch and sequence: none is at least as large in every term."""
    front: list[Size] = []
    for size in dict.fromkeys(sizes):
        if not any(other.dominates(size) for other in front):
            front = [other for other in front if not size.dominates(other)] + [size]
    return tuple(front)


@lru_cache(maxsize=512)
def forward_sizes(section: Section, kept: tuple[Value, ...]) -> tuple[Size, ...]:
    """Bytes alive while each operation of a section runs forward, with some values kept; only the largest."""
    return undominated(_forward(section, kept))


def _total(values: Iterable[Value]) -> Size:
    return total(value.byte_size for value in values)


def _forward(section: Section, kept: tuple[Value, ...]) -> Iterable[Size]:
    last_use: dict[Value, int] = {}
    for index, op in enumerate(section.ops):
        for value in (*op.outputs, *op.inputs, *op.holds):
            last_use[value.storage] = index
    if section.name == "head":
        # The model's forward function holds its logits until it returns.
        for value in last_use:
            if value.component == "logits" or (section.holds_input and value == section.input):
                last_use[value] = len(section.ops)
    alive: dict[Value, None] = {section.input: None} if section.input else {}
    for index, op in enumerate(section.ops):
        alive |= dict.fromkeys(value.storage for value in (*op.inputs, *op.outputs, *op.saved))
        yield _total(alive) + op.forward_workspace
        alive = {value: None for value in alive if last_use.get(value, index) > index or value in kept}


class _Backward:
    """One pass over a section in reverse, with the gradients that are alive."""

    def __init__(
        self,
        section: Section,
        gradients: DType,
        fate: GradientFate,
        kept: tuple[Value, ...],
        held: tuple[Value, ...] = (),
    ) -> None:
        self._section = section
        self._dtype = gradients
        self._fate = fate
        self._kept = set(kept)
        self._held = held
        self._owner: dict[Value, int] = {}
        self._storages: dict[int, Size] = {}
        self._next = 0
        self.waiting = NOTHING

    def run(self) -> Iterable[Size]:
        ops = self._section.ops
        saved_until = self._saved_until()
        self._new(self._section.output)
        if self._held:  # so is the gradient that it was called with
            self.waiting = self._alive()
            self._owner[replace(self._section.output, name="held")] = self._next
        accrued = 0
        for index in range(len(ops) - 1, -1, -1):
            op = ops[index]
            if not any(value in self._owner for value in op.outputs):
                continue
            if self.waiting == NOTHING and (op.saved or op.weights):
                self.waiting = self._alive()
            base = saved_until[index] + as_size(self._dtype.bytes(accrued)) + self._parameter_gradient(op)
            step = self._through_chain if op.kind == "chain" else self._propagate
            yield from (base + extra for extra in step(op))
            if self._fate == "accrue":
                accrued += op.trains

    def _saved_until(self) -> list[Size]:
        """Saved bytes still alive while the operation at each index runs backward."""
        totals: list[Size] = []
        seen: dict[Value, None] = dict.fromkeys(self._held)
        recomputed: dict[Value, None] = {}
        for op in self._section.ops:
            seen |= dict.fromkeys(value for value in op.saved if value in self._kept)
            if op.region == "attention":
                recomputed |= dict.fromkeys(value for value in op.saved if value not in self._kept)
                seen |= dict.fromkeys(value.storage for value in op.inputs if value.storage in self._kept)
            else:
                recomputed = {}
            totals.append(_total(seen) + _total(recomputed))
        return totals

    def _parameter_gradient(self, op: Op) -> Size:
        if not op.trains:
            return NOTHING
        size = as_size(self._dtype.bytes(op.trains))
        if op.kind == "matmul" and op.weight_dtype and op.weight_dtype != self._dtype:
            size = size + as_size(op.weight_dtype.bytes(op.trains))
        return size

    def _propagate(self, op: Op) -> Iterable[Size]:
        """Bytes of gradients alive while `op` runs backward; afterwards its inputs have gradients."""
        result = op.outputs[0]
        if op.in_place:  # what it saved becomes the gradient of the operation before
            yield self._alive()
            self._owner.clear()
            self._new(op.inputs[0])
            self._free()
            return
        inputs = [value for value in op.inputs if value.needs_gradient]
        contributions: list[tuple[Value, int]] = []
        for value in inputs:
            same = value.size == result.size and value.dtype == result.dtype
            if op.passes_gradient and same:
                contributions.append((value, self._owner[result]))
            else:
                contributions.append((value, self._storage(value)))
        broadcast = op.weights or any(value.size != result.size for value in inputs)
        if op.kind == "elementwise" and broadcast and not op.passes_gradient:
            # The gradient of a broadcast factor is a whole product first, and a sum afterwards.
            yield self._alive() + result.byte_size
        yield self._alive() + op.backward_workspace
        for value in op.outputs:
            self._owner.pop(value, None)
        held = [storage for _, storage in contributions]
        for position, (value, storage) in enumerate(contributions):
            waiting = held[position + 1 :]
            if value not in self._owner:
                self._owner[value] = storage
                continue
            first = self._owner[value]
            shared = sum(owner == first for owner in self._owner.values()) > 1 or first in waiting
            if shared:
                self._owner[value] = self._storage(value)
                yield self._alive()
        self._free()

    def _through_chain(self, op: Op) -> Iterable[Size]:
        """As `_propagate` for a compiled chain, which makes nothing but its inputs' gradients.

        It writes the gradient of an input over a result's gradient of the same size that is not needed afterwards. If
        an input has a gradient already, the chain adds to that one.
        """
        ending = [self._owner[value] for value in op.outputs if value in self._owner]
        for value in op.outputs:
            self._owner.pop(value, None)
        free = [storage for storage in dict.fromkeys(ending) if storage not in self._owner.values()]
        for value in (value for value in op.inputs if value.needs_gradient and value not in self._owner):
            alike = next((storage for storage in free if self._storages[storage] == value.byte_size), None)
            if alike is None:
                self._new(value)
            else:
                free.remove(alike)
                self._owner[value] = alike
        yield self._alive() + op.backward_workspace
        self._free()

    def _free(self) -> None:
        """Forget storages that no gradient lies in any more."""
        live = set(self._owner.values())
        self._storages = {storage: size for storage, size in self._storages.items() if storage in live}

    def _new(self, value: Value) -> None:
        self._owner[value] = self._storage(value)

    def _storage(self, value: Value) -> int:
        self._next += 1
        self._storages[self._next] = value.byte_size
        return self._next

    def _alive(self) -> Size:
        return total(self._storages.values())
