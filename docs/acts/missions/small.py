"""Training on a small device: bytes and seconds of a network of which perhaps only a part learns.

Bytes are numbers of elements times the size of each, because the engine's list of named tensors covers only
transformers on GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ironlaw import accelerator

from .facts import Account

STATES = {"sgd": 0, "momentum": 1, "adam": 2, "adam8": 2}
"""Numbers that an optimizer keeps for each parameter that learns."""
NUMBER = {"fp32": 4, "mixed": 2, "fp16": 2, "int8": 1}
"""Bytes of a weight, a gradient and an activation, by precision."""


@dataclass(frozen=True)
class Scope:
    """Which part of a network learns.

    Attributes:
        trained: Parameters that learn.
        kept: Elements kept for backward, per sample.
        flops: Of forward and backward, per sample.
        largest: Parameters of the largest layer that learns: what an update inside backward holds of gradients.
        again: FLOPs, per sample, that checkpointing computes a second time: what backward needs and it does not keep.
        left: Elements that are kept with checkpointing, per sample; None where there is none to choose.
        added: Parameters that it brings along, beside the network's.
        passed: Parameters that backward reads beside those that learn: frozen ones that gradients pass through, and
            those of what it computes again.
        refused: Why the mission does not take it; empty if it does.
    """

    trained: int
    kept: float
    flops: float
    largest: int
    again: float = 0.0
    left: float | None = None
    added: int = 0
    passed: int = 0
    refused: str = ""

    def checkpointed(self) -> Scope:
        """The same with checkpointing."""
        if self.left is None:
            return self
        read = 2 * self.passed + self.trained
        return replace(self, kept=self.left, flops=self.flops + self.again, passed=read)


@dataclass(frozen=True)
class Work:
    """How a device computes.

    Attributes:
        efficiency: Share of the peak that a large batch reaches: an assumption of the track.
        half: Batch at which half of that is reached; 0 where the batch does not matter.
    """

    efficiency: float
    half: float

    def reached(self, batch: int) -> float:
        """Share of the peak at this batch."""
        return self.efficiency * batch / (batch + self.half)


@dataclass(frozen=True)
class Network:
    """A network on its device.

    Attributes:
        parameters: All of them.
        scopes: What can learn, by name.
        device: Name of the accelerator.
        limit: Bytes of its memory that training may take.
        frozen_in_flash: Whether what does not learn is read from flash, and takes no memory.
    """

    parameters: int
    scopes: Mapping[str, Scope]
    device: str
    limit: float
    frozen_in_flash: bool = False


def state_bytes(optimizer: str, precision: str) -> int:
    """Bytes of an optimizer's states for each parameter that learns."""
    return STATES[optimizer] * (1 if optimizer == "adam8" else 4 if precision == "mixed" else NUMBER[precision])


def traffic(net: Network, part: Scope, optimizer: str, precision: str, batch: int) -> float:
    """Bytes that one update moves, each number only as often as training has to.

    Forward reads every weight, backward those that learn or that gradients pass through. Gradients, and what is kept
    for backward, are written and read; what learns, its master copy and its states are read and written.
    """
    number = NUMBER[precision]
    read = number * (net.parameters + part.added + part.trained + part.passed)
    copied = 2 * 4 + number if precision == "mixed" else 2 * number
    each = 2 * number + copied + 2 * state_bytes(optimizer, precision)
    return read + part.trained * each + 2 * number * part.kept * batch


def account(
    net: Network,
    *,
    scope: str,
    optimizer: str,
    precision: str,
    batch: int,
    checkpointing: bool = False,
    in_backward: bool = False,
    refused: str = "",
) -> Account:
    """The memory and the speed of a setting.

    `precision` is `"fp32"`, or `"mixed"` (16 bits for weights, gradients and activations, and an FP32 master copy of
    what learns), or `"fp16"` (16 bits for everything). Speed is the roofline's: the slower of arithmetic at the peak
    and of memory at its bandwidth. A chip without 16-bit arithmetic converts one operand of each multiply-add: half as
    much work again.
    """
    part, chip = net.scopes[scope], accelerator(net.device)
    part = part.checkpointed() if checkpointing else part
    number = NUMBER[precision]
    resident = part.trained if net.frozen_in_flash else net.parameters + part.added
    parts = {
        "weights": float(number * resident),
        "gradients": float(number * (part.largest if in_backward else part.trained)),
        "master": 4.0 * part.trained if precision == "mixed" else 0.0,
        "optimizer": float(state_bytes(optimizer, precision) * part.trained),
        "activations": number * part.kept * batch,
    }
    held = {name: size for name, size in parts.items() if size}
    peak = chip.peak("fp32" if precision == "fp32" else chip.short_format or "fp32")
    converted = 1.5 if precision != "fp32" and chip.short_format is None else 1.0
    flops = part.flops * batch * converted
    seconds = max(flops / peak, traffic(net, part, optimizer, precision, batch) / chip.bandwidth)
    need = sum(held.values())
    return Account(held, need, net.limit, float(number * net.parameters), batch / seconds, part.refused or refused)
