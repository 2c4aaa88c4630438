"""Optimizers: which state tensors they keep for every parameter tensor.

Names of vectors are the implementations' own. PyTorch's default Adam also keeps a step counter per tensor, in host
memory, which is why none is listed: nothing of it is on the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

from ironlaw.core.errors import entry
from ironlaw.core.units import Count
from ironlaw.models.transformer import Parameter
from ironlaw.numerics.dtypes import FP32, UINT8, DType

Form = Literal["full", "quantized", "factored", "projected", "projector", "hidden", "outside"]

QUANTIZATION_BLOCK = 256
"""Elements that share one fp32 scale in 8-bit states: bitsandbytes 0.50, `optim/optimizer.py`, `init_state`.

The paper has 2,048 (Dettmers et al. 2021, arXiv 2110.02861, section 2.1).
"""
PAGED_MINIMUM = 100_000
"""States of smaller tensors are not paged (bitsandbytes, `get_state_buffer`)."""
QUANTIZATION_MINIMUM = 4096
"""Smaller tensors keep fp32 states (bitsandbytes, `min_8bit_size`)."""


@dataclass(frozen=True, slots=True)
class StateVector:
    """A state kept per parameter tensor.

    Attributes:
        name: The implementation's name for it.
        form: `full` is as large as the parameter; `quantized` holds 8 bits an element and a scale per block;
            `factored` holds a row and a column of a matrix; `projected` has rank r instead of a matrix's shorter
            side, and `projector` is the matrix that takes gradients there. Vectors always keep `full` states. `hidden`
            is as large as the parameter and kept for the blocks' matrices alone, `outside` for all others.
    """

    name: str
    form: Form = "full"


@dataclass(frozen=True, slots=True)
class StateTensor:
    """One tensor of state: its name, which vector it belongs to, elements, format, and whether it is paged."""

    name: str
    vector: str
    elements: Count
    dtype: DType
    paged: bool = False


@dataclass(frozen=True, slots=True)
class Optimizer:
    """An optimizer and its states.

    Attributes:
        name: Short name.
        title: Name in tables.
        states: The state vectors kept per parameter tensor.
        temporaries: Tensors of every parameter's size that the `foreach` update makes while it runs.
        loop_temporaries: Tensors of one parameter's size that the `for-loop` update makes.
        source: Who defined the update rule, and whose implementation is meant.
        rank: Rank of projected states; 0 when there are none.
        paged: Whether states are in memory that the driver moves to the host when the device is full. PyTorch's
            allocator does not see it, so it counts as the host's.
        by_matrix: Whether the blocks' matrices are updated one after the other however the rest is, each with
            `loop_temporaries`; `temporaries` are then those of the rest.
    """

    name: str
    title: str
    states: tuple[StateVector, ...]
    temporaries: Count
    loop_temporaries: Count
    source: str
    rank: Count = 0
    paged: bool = False
    by_matrix: bool = False

    def state_tensors(self, parameter: Parameter, dtype: DType) -> Iterator[StateTensor]:
        """The state of one occurrence of a parameter tensor, where full states have format `dtype`."""
        for state in self.states:
            for tensor in _tensors(self, state, parameter, dtype):
                large = self.paged and tensor.elements >= PAGED_MINIMUM and not tensor.name.endswith(".scales")
                yield replace(tensor, paged=True) if large else tensor


def _tensors(optimizer: Optimizer, state: StateVector, p: Parameter, dtype: DType) -> Iterator[StateTensor]:
    name, matrix = f"{p.name}.{state.name}", len(p.shape) > 1
    if state.form == "quantized" and p.elements >= QUANTIZATION_MINIMUM:
        yield StateTensor(name, state.name, p.elements, UINT8)
        yield StateTensor(f"{name}.scales", state.name, -(-p.elements // QUANTIZATION_BLOCK), FP32)
    elif state.form == "quantized":
        yield StateTensor(name, state.name, p.elements, FP32)
    elif state.form == "factored" and matrix:
        *experts, rows, columns = p.shape
        yield StateTensor(f"{name}.rows", state.name, prod((*experts, rows)), dtype)
        yield StateTensor(f"{name}.columns", state.name, prod((*experts, columns)), dtype)
    elif state.form in ("projected", "projector"):
        # Only the blocks' matrices are projected; embeddings and vectors keep full states and need no projector.
        if p.role == "matrix" and p.count > 1 and len(p.shape) == 2 and optimizer.rank < min(p.shape):
            side = max(p.shape) if state.form == "projected" else min(p.shape)
            yield StateTensor(name, state.name, optimizer.rank * side, dtype)
        elif state.form == "projected":
            yield StateTensor(name, state.name, p.elements, dtype)
    elif state.form not in ("hidden", "outside") or (state.form == "hidden") == is_hidden(p):
        yield StateTensor(name, state.name, p.elements, dtype)


def is_hidden(p: Parameter) -> bool:
    """Whether a parameter is a matrix of the blocks: what Muon updates."""
    return p.role == "matrix" and p.name.startswith("blocks.")


_ADAM = (StateVector("exp_avg"), StateVector("exp_avg_sq"))
_ADAM_8BIT = (StateVector("state1", "quantized"), StateVector("state2", "quantized"))
_GALORE = (
    StateVector("exp_avg", "projected"), StateVector("exp_avg_sq", "projected"), StateVector("projector", "projector")
)  # fmt: skip
_MUON = (
    StateVector("momentum_buffer", "hidden"),
    StateVector("exp_avg", "outside"),
    StateVector("exp_avg_sq", "outside"),
)

_OPTIMIZERS = {
    optimizer.name: optimizer
    for optimizer in (
        Optimizer("sgd", "SGD", (), 0, 0, "Robbins and Monro 1951; torch.optim.SGD"),
        Optimizer(
            "momentum", "SGD with momentum", (StateVector("momentum_buffer"),), 0, 0, "Polyak 1964; torch.optim.SGD"
        ),
        Optimizer("rmsprop", "RMSprop", (StateVector("square_avg"),), 1, 1, "Hinton 2012; torch.optim.RMSprop"),
        Optimizer("adam", "Adam", _ADAM, 1, 2, "arXiv 1412.6980; torch.optim.Adam"),
        Optimizer("adamw", "AdamW", _ADAM, 1, 2, "arXiv 1711.05101; torch.optim.AdamW"),
        Optimizer("adamw-8bit", "8-bit AdamW", _ADAM_8BIT, 0, 0, "arXiv 2110.02861; bitsandbytes AdamW8bit"),
        Optimizer(
            "paged-adamw-8bit",
            "paged 8-bit AdamW",
            _ADAM_8BIT,
            0,
            0,
            "arXiv 2305.14314, section 3; bitsandbytes PagedAdamW8bit",
            paged=True,
        ),
        Optimizer(
            "paged-adamw",
            "paged AdamW",
            (StateVector("state1"), StateVector("state2")),
            0,
            0,
            "arXiv 2305.14314, section 3; bitsandbytes PagedAdamW32bit",
            paged=True,
        ),
        Optimizer(
            "muon",
            "Muon, AdamW outside the blocks",
            _MUON,
            1,
            3,
            "Jordan et al. 2024, kellerjordan.github.io/posts/muon; torch.optim.Muon",
            by_matrix=True,
        ),
        Optimizer("adafactor", "Adafactor", (StateVector("exp_avg_sq", "factored"),), 1, 2, "arXiv 1804.04235"),
        Optimizer("lion", "Lion", (StateVector("exp_avg"),), 1, 2, "arXiv 2302.06675"),
        Optimizer("galore", "GaLore (Adam, rank 128)", _GALORE, 1, 2, "arXiv 2403.03507", rank=128),
    )
}


def optimizer(name: str | Optimizer) -> Optimizer:
    """The optimizer called `name` (an `Optimizer` passes through). Raises `EngineError` for an unknown name."""
    if isinstance(name, Optimizer):
        return name
    return entry("optimizer", name, _OPTIMIZERS)


def list_optimizers() -> tuple[str, ...]:
    """Names of all optimizers."""
    return tuple(_OPTIMIZERS)
