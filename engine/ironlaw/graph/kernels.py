"""From operations to kernels: what each launch of a training step computes, reads and writes.

Eager mode runs one kernel per operation. A compiled model runs a chain of operations that are not matrix products as
one kernel: what only travels inside the chain never touches memory. Hand-fused code does so for chains of pointwise
operations, and runs norms, softmax and loss by themselves. The backward pass follows from the forward list: a matrix
product gives two, everything else reads the result's gradient and what was saved, and writes the gradients of its
inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from ironlaw.core.sizes import NOTHING, TOKENS, Size, as_size, total
from ironlaw.core.units import Count
from ironlaw.graph.ir import Matmul, Op, Section, Value
from ironlaw.graph.ring import joining, passed_on, summing
from ironlaw.numerics.dtypes import DType

Phase = Literal["forward", "recompute", "backward", "optimizer"]

PRODUCTS = ("matmul", "attention")
"""Kinds of operations that multiply matrices."""

NO_KERNEL = ("view", "send")
"""Operations without a kernel of the device's own work."""
FLOPS_PER_ELEMENT = {
    "norm": 8,
    "softmax": 5,
    "elementwise": 1,
    "dropout": 2,
    "reduce": 1,
    "embedding": 0,
    "cast": 0,
    "copy": 0,
    "loss": 0,
}
"""Arithmetic of operations without matrix products, per element of the result.

Norm: mean (1), variance (3), subtract, scale, weight, bias (4). Softmax: maximum, subtract, exponential, sum, divide.
A conditional, an exponential or a root counts as one. The counts matter only on the smallest accelerators here: on all
others such operations take the time of their memory traffic.
"""

KERNELS_BY_HAND = ("norm", "softmax", "loss", "reduce")
"""Kinds that hand-fused code runs as kernels of their own.

Megatron-LM fuses bias + GELU, bias + dropout + addition, and scale + mask + softmax, one kernel each.
Source: Narayanan et al. 2021, arXiv 2104.04473, section 4.2.
"""

ATTENTION_BACKWARD_PRODUCTS = 2.5
"""Products of a fused attention's backward over its forward: five against two, the scores being computed again.

Source: Dao 2023, FlashAttention-2, arXiv 2307.08691, section 4.1.
"""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One launch, or `count` equal ones per step.

    Attributes:
        name: The operation's name, or the chain's.
        phase: When it runs.
        kind: `"matmul"`, `"attention"` or `"memory"` (everything bound by traffic).
        flops: Arithmetic, including what is not a matrix product.
        bytes: Traffic to device memory.
        product: The matrix product of a `"matmul"`; None otherwise.
        dtype: Operand format of products, or None.
        count: Launches of this kernel per micro-batch.
        once: Whether it runs once however a chunked loss cuts the sequence.
        head_size: Of fused attention.
        window: Of fused attention: tokens that a query sees; 0 for all before it.
        ring: Of fused attention: devices among which keys and values go around, a step and a launch each.
        passed: Of such a ring: bytes of keys and values that a device sends on in a step.
        decoded: Weights of 4 bits that it makes whole.
    """

    name: str
    phase: Phase
    kind: Literal["matmul", "attention", "memory"]
    flops: Size
    bytes: Size
    product: Matmul | None = None
    dtype: DType | None = None
    count: Count = 1
    once: bool = False
    head_size: Count = 0
    window: Count = 0
    ring: Count = 1
    passed: Size = NOTHING
    decoded: Count = 0


def forward_kernels(
    section: Section, *, fused: bool, by_hand: bool = False, phase: Phase = "forward"
) -> Iterator[Kernel]:
    """The kernels of a section's forward pass, for all its occurrences.

    Args:
        section: Operations from `ironlaw.graph.blocks.sections`.
        fused: Whether chains of operations without products run as one kernel.
        by_hand: Whether only pointwise operations join a chain (`KERNELS_BY_HAND`).
        phase: `"recompute"` when checkpointing runs it again.
    """
    for op in section.ops:
        if op.kind in PRODUCTS:
            yield from _products_forward(op, section.count, phase)
        elif not fused and op.kind not in NO_KERNEL:
            yield Kernel(op.name, phase, "memory", _arithmetic(op), _forward_bytes(op), count=section.count)
    if fused:
        for chain in _chains(section, by_hand):
            traffic = total(v.byte_size for v in chain.reads) + total(v.byte_size for v in chain.writes) + chain.extra
            yield Kernel(chain.name, phase, "memory", chain.flops, traffic, count=section.count)


def backward_kernels(section: Section, *, fused: bool, by_hand: bool = False) -> Iterator[Kernel]:
    """The kernels of a section's backward pass, for all its occurrences, without gradient accumulation buffers."""
    count = section.count
    for op in reversed(section.ops):
        if op.kind == "attention":
            if op.backward_products:
                yield from _attention_backward(op, count)
        elif op.kind == "matmul":
            yield from _products_backward(op, count)
        elif op.kind == "view":  # gradients of the parts are joined
            yield Kernel(f"{op.name}.gradient", "backward", "memory", NOTHING, 2 * op.inputs[0].byte_size, count=count)
        elif not fused and op.kind != "send":
            yield from _pointwise_backward(op, count)
    if fused:
        for chain in reversed(tuple(_chains(section, by_hand))):
            yield _chain_backward(chain, count)
    else:
        yield from _gradient_sums(section)


def recomputed(section: Section, segment_ends: bool = True) -> tuple[Op, ...]:
    """The operations that a checkpointed section runs again.

    PyTorch's non-reentrant checkpoint stops as soon as every saved tensor exists again: the last product's input is
    saved before the product runs, so the last product is not repeated. Inside a segment of several blocks only the
    last block is cut short (`segment_ends`).
    """
    if not segment_ends:
        return section.ops
    last = max((i for i, op in enumerate(section.ops) if op.saved), default=-1)
    if last < 0:
        return ()
    keeps_result = any(value in section.ops[last].outputs for value in section.ops[last].saved)
    return section.ops[: last + 1] if keeps_result else section.ops[:last]


def _products_forward(op: Op, count: Count, phase: Phase) -> Iterator[Kernel]:
    dtype = op.inputs[0].dtype
    traffic = _forward_bytes(op)
    if op.kind == "attention":
        flops = total(p.flops for p in op.matmuls)
        one = Kernel(op.name, phase, "attention", flops, traffic, None, dtype, count, False, _head(op), op.window)
        yield from _around(op, one, joining(op.inputs, op.outputs[0])) if op.ring > 1 else (one,)
        return
    if phase == "forward":
        # Autocast keeps a 16-bit copy of the weight from forward to backward: made once a step.
        for copy in (value for value in op.saved if value.component == "casts"):
            moved = copy.size * (4 + copy.dtype.bits // 8)
            yield Kernel(f"{op.name}.weight_cast", phase, "memory", NOTHING, moved, count=count, once=True)
    (product,) = op.matmuls
    if op.forward_workspace.terms:
        yield _made_whole(op, phase, count)
    yield Kernel(op.name, phase, "matmul", product.flops, traffic, product, dtype, count)


def _made_whole(op: Op, phase: Phase, count: Count) -> Kernel:
    """A matrix of 4 bits and a scale a block, read and written out in the format of the product."""
    moved = op.forward_workspace + as_size(op.weights * 9 // 16)
    return Kernel(f"{op.name}.dequantize", phase, "memory", NOTHING, moved, count=count, decoded=op.weights)


def _forward_bytes(op: Op) -> Size:
    """Inputs and parameters read, results written."""
    if op.kind == "embedding":  # one row is read for every row written
        return op.inputs[0].byte_size + 2 * op.outputs[0].byte_size
    if op.kind == "loss":  # gathers one log-probability per token
        return total(v.byte_size for v in op.inputs[1:]) + TOKENS * 4
    weights = op.weights * (op.weight_dtype.bits // 8) if op.weight_dtype else 0
    return total(v.byte_size for v in op.inputs) + total(v.byte_size for v in op.outputs) + weights


def _arithmetic(op: Op) -> Size:
    return op.outputs[0].size * FLOPS_PER_ELEMENT[op.kind]


def _around(op: Op, one: Kernel, moved: tuple[Size, Size]) -> Iterator[Kernel]:
    """A fused attention in the steps of a ring, and the traffic of joining them: once, and for each further step."""
    yield replace(one, bytes=one.bytes * op.ring, ring=op.ring, passed=passed_on(op.inputs))
    for name, size, times in (("joined", moved[0], 1), ("step", moved[1], op.ring - 1)):
        yield Kernel(f"{one.name}.{name}", one.phase, "memory", NOTHING, size, count=one.count * times)


def _attention_backward(op: Op, count: Count) -> Iterator[Kernel]:
    flops = total(p.flops for p in op.matmuls)
    # Coefficients are whole numbers, so 2.5 products of 2 m n k operations are written as 5 m n k.
    flops = Size(tuple((power, int(c * ATTENTION_BACKWARD_PRODUCTS)) for power, c in flops.terms))
    traffic = op.outputs[0].byte_size + total(v.byte_size for v in op.saved) + total(v.byte_size for v in op.inputs)
    name, dtype = f"{op.name}.gradient", op.inputs[0].dtype
    one = Kernel(name, "backward", "attention", flops, traffic, None, dtype, count, False, _head(op), op.window)
    yield from _around(op, one, summing(op.inputs)) if op.ring > 1 else (one,)


def _head(op: Op) -> Count:
    """Head size of a fused attention: the depth of its scores' sum."""
    return op.matmuls[0].k(1, 1)


def _products_backward(op: Op, count: Count) -> Iterator[Kernel]:
    (p,) = op.matmuls
    gradient, dtype = op.outputs[0].byte_size, op.inputs[0].dtype
    if op.weights == 0:
        a, b = op.inputs
        for name, wanted, other, shape in (
            ("a", a, b, Matmul(p.count, p.m, p.k, p.n, p.groups)),
            ("b", b, a, Matmul(p.count, p.k, p.n, p.m, p.groups)),
        ):
            if not wanted.needs_gradient:
                continue
            traffic = gradient + other.byte_size + wanted.byte_size
            yield Kernel(f"{op.name}.gradient_{name}", "backward", "matmul", p.flops, traffic, shape, dtype, count)
        return
    (x,) = op.inputs
    matrix = p.groups * p.n * p.k * (dtype.bits // 8)
    traffic = gradient + x.byte_size + matrix
    inputs = Matmul(p.count, p.m, p.k, p.n, p.groups)
    if x.needs_gradient:
        if op.backward_workspace.terms:
            yield _made_whole(op, "backward", count)
        yield Kernel(f"{op.name}.input_gradient", "backward", "matmul", p.flops, traffic, inputs, dtype, count)
    if not op.trains:
        return
    if op.trains_matrix:
        weights = Matmul(p.count, p.n, p.k, p.m, p.groups)
        yield Kernel(f"{op.name}.weight_gradient", "backward", "matmul", p.flops, traffic, weights, dtype, count)
    if as_size(op.weights) != p.groups * p.n * p.k:
        yield Kernel(f"{op.name}.bias_gradient", "backward", "memory", op.outputs[0].size, gradient, count=count)
    for copy in (value for value in op.saved if value.component == "casts"):
        moved = copy.size * (4 + copy.dtype.bits // 8)
        yield Kernel(f"{op.name}.gradient_cast", "backward", "memory", NOTHING, moved, count=count, once=True)


def _pointwise_backward(op: Op, count: Count) -> Iterator[Kernel]:
    if op.passes_gradient or op.kind == "embedding" or not any(v.needs_gradient for v in op.inputs):
        return
    result = op.outputs[0].byte_size
    if op.kind == "loss":
        traffic = op.inputs[0].byte_size
    elif op.kind in ("copy", "cast"):
        source = op.inputs[0].dtype.bits // 8
        traffic = result + op.outputs[0].size * source
    elif len(op.inputs) == 2 and all(v.needs_gradient and v in op.saved for v in op.inputs):
        yield from _factor_gradients(op, count)
        return
    else:
        saved = total(v.byte_size for v in op.saved)
        traffic = result + saved + total(v.byte_size for v in op.inputs if v.needs_gradient)
        if op.trains:
            yield from _parameter_gradient(op, result + saved, count)
    yield Kernel(f"{op.name}.gradient", "backward", "memory", 2 * _arithmetic(op), traffic, count=count)


def _factor_gradients(op: Op, count: Count) -> Iterator[Kernel]:
    """A product of two tensors: a kernel for each factor's gradient, and a sum where it was broadcast."""
    result = op.outputs[0]
    for factor, other in (op.inputs, op.inputs[::-1]):
        name = f"{op.name}.{factor.name}.gradient"
        moved = 2 * result.byte_size + other.byte_size
        yield Kernel(name, "backward", "memory", result.size, moved, count=count)
        if factor.size != result.size:
            moved = result.byte_size + factor.byte_size
            yield Kernel(f"{name}_sum", "backward", "memory", result.size, moved, count=count)


def _parameter_gradient(op: Op, reads: Size, count: Count) -> Iterator[Kernel]:
    """The gradient of a norm's or a scale's parameters: a second pass over the result's gradient and the input.

    A norm sums within its kernel. A broadcast product writes the products out and sums them in another kernel.
    """
    name = f"{op.name}.weight_gradient"
    if op.kind == "norm":
        yield Kernel(name, "backward", "memory", _arithmetic(op), reads, count=count)
        return
    products = op.outputs[0]
    yield Kernel(name, "backward", "memory", products.size, reads + products.byte_size, count=count)
    yield Kernel(f"{name}_sum", "backward", "memory", products.size, products.byte_size, count=count)


def _gradient_sums(section: Section) -> Iterator[Kernel]:
    """A tensor that several operations use receives several gradients, which eager mode adds one by one."""
    uses = Counter(v for op in section.ops for v in op.inputs if v.needs_gradient and v.view_of is None)
    for value, times in uses.items():
        if times > 1:
            name = f"{value.name}.gradient_sum"
            yield Kernel(name, "backward", "memory", value.size, 3 * value.byte_size, count=section.count * (times - 1))


@dataclass(frozen=True, slots=True)
class _Chain:
    """Neighbouring operations without products: what they read from other operations, and what others read of them."""

    name: str
    reads: tuple[Value, ...]
    writes: tuple[Value, ...]
    flops: Size
    extra: Size


def _chains(section: Section, by_hand: bool) -> Iterator[_Chain]:
    working = [op for op in section.ops if op.kind not in NO_KERNEL]
    # The loss is one kernel in hand-fused code too: it reads the logits as they are, and keeps no probabilities.
    alone = (*PRODUCTS, *KERNELS_BY_HAND) if by_hand and section.name != "head" else PRODUCTS
    # An operation that cannot be fused is a group of one; other groups are as long as possible.
    groups = (
        group
        for apart, neighbors in groupby(working, lambda op: op.kind in alone)
        for group in ([[op] for op in neighbors] if apart else [list(neighbors)])
    )
    for ops in groups:
        if ops[0].kind in PRODUCTS:
            continue
        made = {value for op in ops for value in op.outputs}
        wanted = {value.storage for op in working if op not in ops for value in op.inputs} | {section.output}
        reads = dict.fromkeys(v for op in ops for v in op.inputs if v.storage not in made)
        writes = [v for op in ops for v in op.outputs[:1] if v in wanted]
        # Statistics and masks are small or cannot be made again, so they stay in memory.
        kept = [v for op in ops for v in op.outputs[1:] if v in op.saved]
        embedded = total(op.outputs[0].byte_size for op in ops if op.kind == "embedding")
        yield _Chain(
            name="+".join(op.name for op in ops if op.kind != "cast") or ops[0].name,
            reads=tuple(reads),
            writes=(*dict.fromkeys(writes), *kept),
            flops=total(_arithmetic(op) for op in ops),
            extra=embedded,
        )


def _chain_backward(chain: _Chain, count: Count) -> Kernel:
    """Reads what the forward read and the gradients of what it wrote; writes the gradients of what it read."""
    reads = total(v.byte_size for v in (*chain.reads, *chain.writes))
    written = total(v.byte_size for v in chain.reads if v.needs_gradient)
    return Kernel(f"{chain.name}.gradient", "backward", "memory", 2 * chain.flops, reads + written, count=count)
