"""Optimizers: which state vectors they keep for every parameter tensor.

Names of vectors are PyTorch's own. PyTorch's default Adam also keeps a step counter per tensor, in host memory, which
is why none is listed: nothing of it is on the device.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import one_of


@dataclass(frozen=True, slots=True)
class StateVector:
    """A state tensor as large as the parameter tensor it belongs to."""

    name: str


@dataclass(frozen=True, slots=True)
class Optimizer:
    """An optimizer and the state vectors it keeps per parameter tensor; `source` says who defined the update rule."""

    name: str
    title: str
    states: tuple[StateVector, ...]
    source: str


_ADAM_STATES = (StateVector("exp_avg"), StateVector("exp_avg_sq"))

_OPTIMIZERS = {
    optimizer.name: optimizer
    for optimizer in (
        Optimizer("sgd", "SGD", (), "Robbins and Monro 1951"),
        Optimizer("momentum", "SGD with momentum", (StateVector("momentum_buffer"),), "Polyak 1964; torch.optim.SGD"),
        Optimizer("rmsprop", "RMSprop", (StateVector("square_avg"),), "Hinton 2012; torch.optim.RMSprop"),
        Optimizer("adam", "Adam", _ADAM_STATES, "arXiv 1412.6980; torch.optim.Adam"),
        Optimizer("adamw", "AdamW", _ADAM_STATES, "arXiv 1711.05101; torch.optim.AdamW"),
    )
}


def optimizer(name: str | Optimizer) -> Optimizer:
    """The optimizer called `name` (an `Optimizer` passes through). Raises `EngineError` for an unknown name."""
    if isinstance(name, Optimizer):
        return name
    if name not in _OPTIMIZERS:
        raise one_of("optimizer", name, _OPTIMIZERS)
    return _OPTIMIZERS[name]


def list_optimizers() -> tuple[str, ...]:
    """Names of all optimizers."""
    return tuple(_OPTIMIZERS)
