"""Named tensors and their sum: the one accounting of bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.dtypes import DType
from engine.errors import EngineError
from engine.units import Bytes, Count


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor that training keeps in memory, `count` times.

    Attributes:
        name: Dotted name; `*` stands for the layer's number.
        component: What it is part of: parameters, gradients, optimizer, master, casts, activations, logits.
        elements: Elements of one occurrence.
        dtype: Number format.
        count: How often it occurs.
        part: Its role within the component, e.g. the optimizer's state vector `"exp_avg"`.
        shard_group: The group of devices that divide it among themselves; empty when every device holds it whole.
    """

    name: str
    component: str
    elements: Count
    dtype: DType
    count: Count = 1
    part: str = ""
    shard_group: str = ""

    @property
    def bytes(self) -> Bytes:
        """Bytes of all occurrences."""
        return self.dtype.bytes(self.elements) * self.count


@dataclass(frozen=True)
class MemoryLedger:
    """The tensors of a training step on one device. Every total is a sum over them."""

    tensors: tuple[Tensor, ...]

    def bytes_by_component(self) -> dict[str, Bytes]:
        """Bytes of each component, in order of first occurrence."""
        return _sums((tensor.component, tensor.bytes) for tensor in self.tensors)

    def bytes_by_part(self, component: str) -> dict[str, Bytes]:
        """Bytes of each part of a component, e.g. of each optimizer state vector. Empty when there is none."""
        return _sums((tensor.part, tensor.bytes) for tensor in self.tensors if tensor.component == component)

    def component(self, name: str) -> Bytes:
        """Bytes of one component; 0 when this configuration has none of it (SGD has no optimizer state).

        Raises `EngineError` for a name that is no component at all.
        """
        if name not in COMPONENTS:
            raise EngineError(f"component {name!r} is unknown; allowed: {', '.join(COMPONENTS)}")
        return sum(tensor.bytes for tensor in self.tensors if tensor.component == name)

    @property
    def static_bytes(self) -> Bytes:
        """Bytes that do not depend on batch or sequence: parameters, gradients, master copy, optimizer states."""
        return sum(tensor.bytes for tensor in self.tensors if tensor.component in STATIC_COMPONENTS)

    @property
    def saved_bytes(self) -> Bytes:
        """Bytes that autograd keeps from forward to backward: activations, log-probabilities, cached weight casts."""
        return sum(tensor.bytes for tensor in self.tensors if tensor.component in SAVED_COMPONENTS)

    @property
    def total_bytes(self) -> Bytes:
        """Bytes of all tensors."""
        return sum(tensor.bytes for tensor in self.tensors)


STATIC_COMPONENTS = ("parameters", "master", "gradients", "optimizer")
SAVED_COMPONENTS = ("casts", "activations", "logits")
COMPONENTS = STATIC_COMPONENTS + SAVED_COMPONENTS


def _sums(pairs: Iterable[tuple[str, Bytes]]) -> dict[str, Bytes]:
    sums: dict[str, Bytes] = {}
    for key, value in pairs:
        sums[key] = sums.get(key, 0) + value
    return sums
