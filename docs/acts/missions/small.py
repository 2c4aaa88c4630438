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
        refused: Why the mission does not take it; empty if it does.
    """

    trained: int
    kept: float
    flops: float
    largest: int
    again: float = 0.0
    left: float | None = None
    added: int = 0
    refused: str = ""

    def checkpointed(self) -> Scope:
        """The same with checkpointing."""
        return replace(self, kept=self.kept if self.left is None else self.left, flops=self.flops + self.again)


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
    and of memory at its bandwidth, with every state read and written once for each update. A chip without 16-bit
    arithmetic converts one operand of each multiply-add: half as much work again.
    """
    part, chip = net.scopes[scope], accelerator(net.device)
    part = part.checkpointed() if checkpointing else part
    number = 4 if precision == "fp32" else 2
    state = 1 if optimizer == "adam8" else 2 if precision == "fp16" else 4
    resident = part.trained if net.frozen_in_flash else net.parameters + part.added
    parts = {
        "weights": float(number * resident),
        "gradients": float(number * (part.largest if in_backward else part.trained)),
        "master": 4.0 * part.trained if precision == "mixed" else 0.0,
        "optimizer": float(STATES[optimizer] * state * part.trained),
        "activations": number * part.kept * batch,
    }
    held = {name: size for name, size in parts.items() if size}
    peak = chip.peak("fp32" if precision == "fp32" else chip.short_format or "fp32")
    converted = 1.5 if precision != "fp32" and chip.short_format is None else 1.0
    flops = part.flops * batch * converted
    moved = 2 * (parts["activations"] + parts["master"] + parts["optimizer"]) + 3 * number * net.parameters
    seconds = max(flops / peak, moved / chip.bandwidth)
    need = sum(held.values())
    return Account(held, need, net.limit, float(number * net.parameters), batch / seconds, part.refused or refused)
