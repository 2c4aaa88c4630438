"""Named tensors and their sum: the one accounting of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Literal

from ironlaw.core.arrays import maximum, numbers
from ironlaw.core.errors import EngineError
from ironlaw.core.sizes import Size, power_of_two, total
from ironlaw.core.units import Bytes, Count
from ironlaw.numerics.dtypes import DType

Place = Literal["device", "host"]

STATIC_COMPONENTS = ("parameters", "master", "gradients", "optimizer", "buckets", "gathered")
SAVED_COMPONENTS = ("casts", "activations", "logits")
COMPONENTS = STATIC_COMPONENTS + SAVED_COMPONENTS
EVALUATION = "evaluation"
"""With which the names of moments begin that are no step's."""
REFERENCE = "reference"
"""With which those begin at which a frozen reference answers."""
ROLLOUT = "rollout"
"""With which those begin at which texts are generated."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor that training keeps in memory, `count` times.

    Attributes:
        name: Dotted name; `*` stands for the layer's number.
        component: What it is part of, one of `COMPONENTS`.
        elements: Elements of one occurrence on this device.
        dtype: Number format.
        count: How often it occurs.
        part: Its role within the component, e.g. the optimizer's state vector `"exp_avg"`.
        shard_group: The groups of devices that divide it among themselves, e.g. `"tensor+data"`; empty when every
            device holds it whole.
        place: `"host"` when it is offloaded to the host's memory.
    """

    name: str
    component: str
    elements: Count
    dtype: DType
    count: Count = 1
    part: str = ""
    shard_group: str = ""
    place: Place = "device"

    @property
    def bytes(self) -> Bytes:
        """Bytes of all occurrences."""
        return self.dtype.bytes(self.elements) * self.count


@dataclass(frozen=True, slots=True)
class Saved:
    """A tensor kept from forward to backward, its elements a polynomial in batch and sequence (see `Tensor`)."""

    name: str
    component: str
    size: Size
    dtype: DType
    count: Count
    part: str
    place: Place = "device"

    @property
    def byte_size(self) -> Size:
        """Bytes of all occurrences."""
        return self.size * (self.dtype.bits // 8 * self.count)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Bytes allocated at a moment that may be the peak: a part for the whole sequence, a part for one loss chunk."""

    moment: str
    whole: Size
    chunk: Size

    def bytes(self, batch: Count, sequence: Count, piece: tuple[Count, Count]) -> Bytes:
        """Bytes for a batch, a sequence, and the batch and sequence of the loss's largest piece."""
        return self.whole(batch, sequence) + self.chunk(*piece) if self.chunk.terms else self.whole(batch, sequence)


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment in the step at which memory may peak, and the bytes allocated then."""

    name: str
    bytes: Bytes


@dataclass(frozen=True)
class MemoryPlan:
    """All of a ledger that does not depend on batch and sequence, made once and evaluated for each.

    Attributes:
        static: Tensors whose size is fixed.
        saved: Tensors kept from forward to backward.
        candidates: What is allocated when, in the order of the step.
        chunks: Pieces into which the loss cuts the sequence.
        workspace_bytes: Scratch memory of the matrix library, part of every candidate.
        context_bytes: What the driver takes outside the framework's allocator.
        runtime_bytes: What DeepSpeed holds besides (`ironlaw.memory.deepspeed`).
        ways: Parts of the tokens, rounded up to a power of two, of which a fused linear loss takes one at a time; 0
            for other losses.
    """

    static: tuple[Tensor, ...]
    saved: tuple[Saved, ...]
    candidates: tuple[Candidate, ...]
    chunks: Count
    workspace_bytes: Bytes
    context_bytes: Bytes
    runtime_bytes: Bytes = 0
    ways: Count = 0

    @cached_property
    def static_sums(self) -> dict[str, Bytes]:
        """Bytes on the device of each fixed component."""
        return _sums((tensor.component, tensor.bytes) for tensor in self.static if tensor.place == "device")

    @cached_property
    def saved_sums(self) -> dict[str, Size]:
        """Bytes on the device of each saved component, as polynomials."""
        sums: dict[str, Size] = {}
        for tensor in (tensor for tensor in self.saved if tensor.place == "device"):
            size = tensor.byte_size
            sums[tensor.component] = sums[tensor.component] + size if tensor.component in sums else size
        return sums

    @cached_property
    def static_host(self) -> Bytes:
        """Bytes of fixed tensors in the host's memory."""
        return sum(tensor.bytes for tensor in self.static if tensor.place == "host")

    @cached_property
    def saved_host(self) -> Size:
        """Bytes of saved tensors there."""
        return total(tensor.byte_size for tensor in self.saved if tensor.place == "host")

    @cached_property
    def front(self) -> tuple[Candidate, ...]:
        """The candidates that are the largest for some batch and sequence."""
        front: list[Candidate] = []
        for one in self.candidates:
            if not any(o.whole.dominates(one.whole) and o.chunk.dominates(one.chunk) for o in front):
                front = [o for o in front if not (one.whole.dominates(o.whole) and one.chunk.dominates(o.chunk))]
                front.append(one)
        return tuple(front)

    def allocated_peak(self, batch: Count, sequence: Count) -> Bytes:
        """The most bytes allocated at any moment."""
        piece = self.piece(batch, sequence)
        larger: Callable[[Any, Any], Any] = numbers(batch, sequence).maximum
        return reduce(larger, [candidate.bytes(batch, sequence, piece) for candidate in self.front])

    def piece(self, batch: Count, sequence: Count) -> tuple[Count, Count]:
        """Batch and sequence of the loss's largest piece."""
        if self.ways:
            return 1, power_of_two(batch * sequence, self.ways)
        return batch, -(-sequence // self.chunks)


@dataclass(frozen=True)
class MemoryLedger:
    """The tensors of a training step on one device. Every total is a sum over them.

    Attributes:
        plan: All that does not depend on batch and sequence.
        batch: Sequences in the micro-batch.
        sequence: Tokens of a sequence that one device has.
    """

    plan: MemoryPlan
    batch: Count
    sequence: Count

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """Everything the step keeps, with what is offloaded to the host."""
        saved = (
            Tensor(t.name, t.component, t.size(self.batch, self.sequence), t.dtype, t.count, t.part, place=t.place)
            for t in self.plan.saved
        )
        return (*self.plan.static, *saved)

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """Bytes allocated at each moment at which memory may peak, in the order of the step.

        Temporary tensors are in here and nowhere else.
        """
        piece = self.plan.piece(self.batch, self.sequence)
        largest: dict[str, Bytes] = {}
        for candidate in self.plan.candidates:
            value = candidate.bytes(self.batch, self.sequence, piece)
            largest[candidate.moment] = maximum(largest.get(candidate.moment, 0), value)  # type: ignore[assignment]
        return tuple(Moment(name, value) for name, value in largest.items())

    def bytes_by_component(self) -> dict[str, Bytes]:
        """Bytes of each component on the device, in order of first occurrence."""
        saved = {name: size(self.batch, self.sequence) for name, size in self.plan.saved_sums.items()}
        return self.plan.static_sums | saved

    def bytes_by_part(self, component: str) -> dict[str, Bytes]:
        """Bytes of each part of a component, e.g. of each optimizer state vector. Empty when there is none."""
        mine = (tensor for tensor in self.tensors if tensor.component == component and tensor.place == "device")
        return _sums((tensor.part, tensor.bytes) for tensor in mine)

    def component(self, name: str) -> Bytes:
        """Bytes of one component on the device; 0 when there is none of it (SGD has no optimizer state).

        Raises `EngineError` for a name that is no component at all.
        """
        if name not in COMPONENTS:
            raise EngineError("component", name, COMPONENTS)
        return self._total((name,))

    @property
    def static_bytes(self) -> Bytes:
        """Bytes that do not depend on batch or sequence: parameters, gradients, master copy, optimizer states."""
        return self._total(STATIC_COMPONENTS)

    @property
    def saved_bytes(self) -> Bytes:
        """Bytes that autograd keeps from forward to backward: activations, log-probabilities, cached weight casts."""
        return self._total(SAVED_COMPONENTS)

    @property
    def total_bytes(self) -> Bytes:
        """Bytes of all tensors kept on the device."""
        return self._total(COMPONENTS)

    @property
    def host_bytes(self) -> Bytes:
        """Bytes offloaded to the host."""
        return self.plan.static_host + self.plan.saved_host(self.batch, self.sequence)

    @property
    def workspace_bytes(self) -> Bytes:
        """Scratch memory of the matrix library, part of every moment."""
        return self.plan.workspace_bytes

    @property
    def peak(self) -> Moment:
        """The moment with the most bytes allocated. For a sweep, ask `allocated_peak`."""
        return max(self.moments, key=lambda moment: moment.bytes)

    @property
    def step_peak(self) -> Moment:
        """The same of a step: without evaluation and generation."""
        of_step = (moment for moment in self.moments if not moment.name.startswith((EVALUATION, ROLLOUT)))
        return max(of_step, key=lambda moment: moment.bytes)

    @property
    def rollout(self) -> Moment | None:
        """The moment of generation; None where no texts are generated, or another program does it."""
        return next((moment for moment in self.moments if moment.name.startswith(ROLLOUT)), None)

    @property
    def evaluation(self) -> Moment | None:
        """The same of evaluation; None where nothing is said of it."""
        of_evaluation = (moment for moment in self.moments if moment.name.startswith(EVALUATION))
        return max(of_evaluation, key=lambda moment: moment.bytes, default=None)

    @property
    def allocated_peak(self) -> Bytes:
        """The most bytes allocated at any moment, workspace included: `torch.cuda.max_memory_allocated`."""
        return self.plan.allocated_peak(self.batch, self.sequence)

    @property
    def device_total(self) -> Bytes:
        """Peak, the runtime's buffers, the driver's context: the least a device must have. Fragmentation is on top."""
        return self.allocated_peak + self.plan.runtime_bytes + self.plan.context_bytes

    def _total(self, components: tuple[str, ...]) -> Bytes:
        plan = self.plan
        static = sum(plan.static_sums.get(name, 0) for name in components)
        return static + sum(
            plan.saved_sums[name](self.batch, self.sequence) for name in components if name in plan.saved_sums
        )


def _sums(pairs: Iterable[tuple[str, Bytes]]) -> dict[str, Bytes]:
    sums: dict[str, Bytes] = {}
    for key, value in pairs:
        sums[key] = sums.get(key, 0) + value
    return sums
