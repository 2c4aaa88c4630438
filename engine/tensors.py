"""Named tensors and their sum: the one accounting of bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from engine.arrays import maximum
from engine.dtypes import DType
from engine.errors import one_of
from engine.units import Bytes, Count

Place = Literal["device", "host"]

STATIC_COMPONENTS = ("parameters", "master", "gradients", "optimizer", "buckets", "gathered")
SAVED_COMPONENTS = ("casts", "activations", "logits")
COMPONENTS = STATIC_COMPONENTS + SAVED_COMPONENTS


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
class Moment:
    """A moment in the step at which memory may peak, and the bytes allocated then."""

    name: str
    bytes: Bytes


@dataclass(frozen=True)
class MemoryLedger:
    """The tensors of a training step on one device. Every total is a sum over them.

    Attributes:
        tensors: Everything the step keeps, with what is offloaded to the host.
        moments: What is allocated at each moment at which memory may peak, in the order of the step. Temporary
            tensors are in here and nowhere else.
        workspace_bytes: Scratch memory of the matrix library, part of every moment.
        context_bytes: What the driver takes outside the framework's allocator.
    """

    tensors: tuple[Tensor, ...]
    moments: tuple[Moment, ...] = ()
    workspace_bytes: Bytes = 0
    context_bytes: Bytes = 0

    def bytes_by_component(self) -> dict[str, Bytes]:
        """Bytes of each component on the device, in order of first occurrence."""
        return _sums((tensor.component, tensor.bytes) for tensor in self.tensors if tensor.place == "device")

    def bytes_by_part(self, component: str) -> dict[str, Bytes]:
        """Bytes of each part of a component, e.g. of each optimizer state vector. Empty when there is none."""
        mine = (tensor for tensor in self.tensors if tensor.component == component and tensor.place == "device")
        return _sums((tensor.part, tensor.bytes) for tensor in mine)

    def component(self, name: str) -> Bytes:
        """Bytes of one component on the device; 0 when there is none of it (SGD has no optimizer state).

        Raises `EngineError` for a name that is no component at all.
        """
        if name not in COMPONENTS:
            raise one_of("component", name, COMPONENTS)
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
        return sum(tensor.bytes for tensor in self.tensors if tensor.place == "host")

    @property
    def peak(self) -> Moment:
        """The moment with the most bytes allocated. For a sweep, ask `allocated_peak`."""
        return max(self.moments, key=lambda moment: moment.bytes)

    @property
    def allocated_peak(self) -> Bytes:
        """The most bytes allocated at any moment, workspace included: `torch.cuda.max_memory_allocated`."""
        largest: float = 0
        for moment in self.moments:
            largest = maximum(largest, moment.bytes)
        return largest  # type: ignore[return-value]  # bytes are whole numbers

    @property
    def device_total(self) -> Bytes:
        """The peak and the driver's context: the least a device must have. Fragmentation comes on top."""
        return self.allocated_peak + self.context_bytes

    def _total(self, components: tuple[str, ...]) -> Bytes:
        mine = (t.bytes for t in self.tensors if t.component in components and t.place == "device")
        return sum(mine)


def _sums(pairs: Iterable[tuple[str, Bytes]]) -> dict[str, Bytes]:
    sums: dict[str, Bytes] = {}
    for key, value in pairs:
        sums[key] = sums.get(key, 0) + value
    return sums
