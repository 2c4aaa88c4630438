"""The operation list of a training step: each operation with its shapes and the tensors it keeps for backward.

One list serves every quantity. Saved tensors give activation memory, matrix dimensions give FLOPs, inputs, outputs and
weights give the bytes moved. Sizes are polynomials in batch and sequence length, so a list is made once per model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ironlaw.core.sizes import NOTHING, Size, as_size
from ironlaw.core.units import Bytes, Count
from ironlaw.numerics.dtypes import DType

# A "chain" is several operations without products that a compiler runs as one kernel (`ironlaw.graph.partitioner`); a
# "send" is a collective, timed by `ironlaw.parallel.job`.
Kind = Literal[
    "embedding", "matmul", "attention", "norm", "softmax", "elementwise", "cast", "dropout", "view", "copy", "reduce",
    "loss", "chain", "send",
]  # fmt: skip
DISPATCH = "mlp.dispatched"
"""The operation that sends tokens to the devices of their experts."""
Component = Literal["activations", "casts", "logits"]
Region = Literal["", "attention"]


@dataclass(frozen=True)
class Value:
    """A tensor that flows through the list.

    Attributes:
        name: Unique within its section.
        size: Elements, as a polynomial in batch and sequence.
        dtype: Number format.
        component: Which part of the ledger it counts to when it is saved.
        needs_gradient: Whether backward computes its gradient; not for masks, indices, statistics and tables.
        view_of: The tensor whose storage this one shares, or None when it has its own.
    """

    name: str
    size: Size
    dtype: DType
    component: Component = "activations"
    needs_gradient: bool = True
    view_of: Value | None = None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.size, self.dtype, self.view_of))

    @property
    def storage(self) -> Value:
        """The tensor that owns the memory: what counts when bytes are summed."""
        return self.view_of.storage if self.view_of else self

    def bytes(self, batch: Count, sequence: Count) -> Bytes:
        """Bytes for a batch of sequences."""
        return self.dtype.bytes(self.size(batch, sequence))

    @cached_property
    def byte_size(self) -> Size:
        """Bytes, as a polynomial in batch and sequence."""
        return self.size * (self.dtype.bits // 8)


@dataclass(frozen=True, slots=True)
class Matmul:
    """`count` independent products of an (m, k) by a (k, n) matrix.

    With `groups` above one it is one launch of so many products that divide the tokens among themselves, which are m's
    rows, or k's depth in a weight's gradient.
    """

    count: Size
    m: Size
    n: Size
    k: Size
    groups: Count = 1

    @property
    def flops(self) -> Size:
        """Multiplications and additions, 2 m n k each; a polynomial to evaluate for batch and sequence."""
        return 2 * self.count * self.m * self.n * self.k


@dataclass(frozen=True)
class Op:
    """One operation of the forward pass.

    Attributes:
        name: Dotted name, e.g. `"attn.c_attn"`.
        kind: What sort of work it is.
        inputs: Tensors read, without parameters.
        outputs: Tensors written; the first is the result, others are views of it or kept for backward only.
        saved: Storages that autograd keeps until this operation's backward.
        matmuls: The matrix products it does, if any.
        weights: Parameter elements it reads (for an embedding: rows looked up are in `outputs`, so 0).
        weight_dtype: Format in which those parameters are read, or None when it reads none.
        trains: Parameter elements whose gradient its backward computes.
        forward_workspace: Bytes it needs besides what it reads and writes.
        passes_gradient: Whether the result's gradient serves unchanged as the inputs' gradient (sums, copies).
        backward_workspace: Bytes its backward needs besides gradients and what was saved.
        region: `"attention"` for the core of attention, which selective checkpointing recomputes; else empty.
        window: Tokens that a query of a fused attention sees; 0 for all before it.
        in_place: Whether its backward writes the gradient of its first input over that input, which it saved.
        ring: Devices among which keys and values of a fused attention go around; 1 where a device has the sequence.
        holds: Tensors that the functions around it, which end with it, have held as their arguments.
    """

    name: str
    kind: Kind
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    saved: tuple[Value, ...] = ()
    matmuls: tuple[Matmul, ...] = ()
    weights: Count = 0
    weight_dtype: DType | None = None
    trains: Count = 0
    passes_gradient: bool = False
    backward_workspace: Size = NOTHING
    forward_workspace: Size = NOTHING
    region: Region = ""
    window: Count = 0
    in_place: bool = False
    ring: Count = 1
    holds: tuple[Value, ...] = ()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # Lists of operations are the keys of several caches; the generated hash would walk all tensors each time.
        return hash((self.name, self.kind, self.inputs, self.outputs, self.saved, self.weights, self.trains))

    @property
    def trains_matrix(self) -> bool:
        """Whether backward computes the gradient of the matrix that it multiplies by, not of a bias alone."""
        return self.trains > 0 and any(as_size(self.trains).dominates(m.n * m.k) for m in self.matmuls)

    @property
    def backward_products(self) -> Count:
        """How many products of the forward size give the gradients that are wanted: two where everything is trained."""
        inputs = sum(value.needs_gradient for value in self.inputs)
        if self.kind == "attention":
            return 2 if inputs else 0
        return inputs + self.trains_matrix


@dataclass(frozen=True, slots=True)
class Section:
    """Operations that occur `count` times in a row: the embedding, the block, the final norm, the head with its loss.

    Attributes:
        name: `"embedding"`, `"block"`, `"norm"` (the final one) or `"head"` (output matrix and loss).
        ops: The operations in forward order.
        input: The tensor handed over by the section before, or None for the first.
        count: How often the section occurs.
        holds_input: Whether the function that runs it holds its input until it returns.
    """

    name: str
    ops: tuple[Op, ...]
    input: Value | None = None
    count: Count = 1
    holds_input: bool = False

    @property
    def saved(self) -> tuple[Value, ...]:
        """Every tensor kept for backward, once, in order of first use. A section's input belongs to the section."""
        return tuple(dict.fromkeys(value for op in self.ops for value in op.saved))

    @property
    def output(self) -> Value:
        """The tensor handed to the next section."""
        return self.ops[-1].outputs[0]
