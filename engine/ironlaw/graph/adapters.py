"""A linear layer with an adapter beside it, or in 4 bits, as Hugging Face peft and bitsandbytes compute it.

Sources: peft 0.21, `tuners/lora/layer.py`, `tuners/lora/bnb.py`, `tuners/lora/dora.py`; bitsandbytes 0.50,
`nn/modules.py` (`Linear4bit`) and `autograd/_functions.py` (`MatMul4Bit`). Tested against both.

A layer in 4 bits gives its result in the format of its input, not in that of the product: behind an FP32 norm that is
FP32, and so is what the rest of the block keeps. That is one reason why QLoRA may need more memory than LoRA.
"""

from __future__ import annotations

from dataclasses import replace

from ironlaw.core.sizes import TOKENS, as_size
from ironlaw.core.units import Count
from ironlaw.graph.adaptation import Training, expert_rank
from ironlaw.graph.ir import Matmul, Op, Value
from ironlaw.graph.tape import Tape
from ironlaw.numerics.dtypes import DType


def adapted(tape: Tape, training: Training, name: str, x: Value, inputs: Count, outputs: Count, *, bias: bool) -> Value:
    """A frozen linear layer for every token, in 4 bits or not, with what its adapter adds to it."""
    quantized = name in training.quantized
    result = (_quantized if quantized else Tape.product)(tape, name, x, inputs, outputs, bias=bias)
    if name not in training.adapted:
        return result
    kept, wanted, given = result, result.dtype, x
    if quantized:
        kept = tape.copy(f"{name}.clone", result)
    how, stored = training.adaptation, training.adaptation.trained_format(tape.precision)
    if not (quantized and tape.precision.autocast):
        x = tape.cast(f"{name}.lora", x, stored)
    if how.magnitudes:
        extra = _row_lengths(tape, name, x, kept, (inputs, how.rank, outputs), stored, bias=bias)
    else:
        extra = _low_rank(tape, name, tape.dropout(f"{name}.lora_dropout", x, how.dropout), inputs, how.rank, outputs)
        extra = tape.operation(f"{name}.lora_scale", "elementwise", (extra,), extra.size, extra.dtype)
        if quantized and not tape.precision.autocast:
            extra = tape.cast(f"{name}.lora_scale", extra, wanted)
    result = tape.cast(f"{name}.adapted", tape.add(f"{name}.adapted", kept, extra), wanted)
    tape.holding(given)
    return result


def folded(tape: Tape, name: str, groups: Count, inputs: Count, outputs: Count, *, autocast: bool) -> Value | None:
    """Matrices to which their adapters' product is added before they are used, as peft does with those of experts.

    The sum is a tensor of its own, as large as all matrices, which the product that uses it saves. The adapter's
    matrices are cast to the weights' format, or, where peft does not switch autocast off, to that of the products. None
    where the matrices have no adapter.
    """
    if not (tape.training and name in tape.training.adapted):
        return None
    rank = expert_rank(name, tape.training.adaptation)
    stored, kept = tape.training.adaptation.trained_format(tape.precision), tape.precision.weights
    wanted = tape.precision.compute if autocast else kept if groups > 1 else stored
    factors = []
    for factor, elements in (("lora_A", groups * rank * inputs), ("lora_B", groups * rank * outputs)):
        value = tape.value(f"{name}.{factor}", as_size(elements), wanted)
        tape.record(
            Op(f"{name}.{factor}", "cast", (), (value,), weights=elements, weight_dtype=stored, trains=elements)
        )
        factors.append(value)
    size = as_size(groups * inputs * outputs)
    added = tape.value(f"{name}.added", size, wanted)
    product = Matmul(as_size(groups), as_size(outputs), as_size(inputs), as_size(rank))
    saved = () if wanted == stored else tuple(factors)
    tape.record(Op(f"{name}.added", "matmul", tuple(factors), (added,), saved, (product,)))
    added = tape.cast(f"{name}.added", added, kept)
    out = Value(f"{added.name}.folded", size, kept, view_of=added)
    weights = groups * inputs * outputs
    return tape.record(
        Op(
            f"{name}.folded", "elementwise", (added,), (out,), weights=weights, weight_dtype=kept,
            passes_gradient=True,
        )
    )  # fmt: skip


def _quantized(tape: Tape, name: str, x: Value, inputs: Count, outputs: Count, *, bias: bool) -> Value:
    """A product with a matrix of 4 bits, which forward and backward each make whole again. Saves nothing."""
    compute = tape.precision.compute
    narrow = tape.cast(name, x, compute)
    out = tape.value(f"{name}.product", TOKENS * outputs, compute)
    whole = as_size(compute.bytes(inputs * outputs))
    product = Matmul(as_size(1), TOKENS, as_size(outputs), as_size(inputs))
    weights = inputs * outputs + (outputs if bias else 0)
    tape.record(
        Op(
            name, "matmul", (narrow,), (out,), (), (product,), weights, compute, trains=weights,
            forward_workspace=whole, backward_workspace=whole,
        )
    )  # fmt: skip
    return tape.cast(f"{name}.result", out, x.dtype)


def _low_rank(tape: Tape, name: str, x: Value, inputs: Count, rank: Count, outputs: Count) -> Value:
    """`x A^T B^T`, in the adapter's format, or under autocast in that of the products."""
    down = _matrix(tape, f"{name}.lora_A", x, inputs, rank)
    return _matrix(tape, f"{name}.lora_B", down, rank, outputs)


def _matrix(tape: Tape, name: str, x: Value, inputs: Count, outputs: Count) -> Value:
    assert tape.training
    stored = tape.training.adaptation.trained_format(tape.precision)
    if tape.precision.autocast:
        weights = replace(tape.precision, weights=stored)
    else:
        weights = replace(tape.precision, weights=stored, compute=stored)
    before, tape.precision = tape.precision, weights
    try:
        return tape.product(name, x, inputs, outputs)
    finally:
        tape.precision = before


def _row_lengths(
    tape: Tape, name: str, x: Value, result: Value, shape: tuple[Count, Count, Count], stored: DType, *, bias: bool
) -> Value:
    """DoRA: the trained length of every row over that of the adapted matrix, times what both matrices give.

    To know the lengths, peft writes out the adapted matrix: the adapter's product with an identity matrix, its sum with
    the frozen one, and the squares. All are freed again but for one: of a matrix that is kept transposed peft makes a
    parameter that is trained, and the graph of its length then holds the sum.
    """
    assert tape.training
    inputs, rank, outputs = shape
    before, working = as_size(outputs), x.dtype
    matrix, identity = inputs * outputs, inputs * inputs
    lengths = tape.value(f"{name}.lengths", before, working, needs_gradient=False)
    scratch = working.bytes(3 * matrix) + stored.bytes(identity)
    held = name not in tape.training.quantized and tape.training.transposed and working == tape.precision.weights
    kept = (tape.value(f"{name}.adapted_matrix", as_size(matrix), working, needs_gradient=False),) if held else ()
    tape.record(Op(f"{name}.lengths", "reduce", (), (lengths,), kept, forward_workspace=as_size(scratch)))
    scale = tape.value(f"{name}.row_scale", before, stored)
    tape.record(
        Op(
            f"{name}.magnitude", "elementwise", (lengths,), (scale,), (lengths,),
            weights=outputs, weight_dtype=stored, trains=outputs,
        )
    )  # fmt: skip
    extra = _low_rank(tape, name, x, inputs, rank, outputs)
    if bias:
        parameter = tape.value(f"{name}.bias", before, tape.precision.weights, needs_gradient=False)
        result = tape.add(f"{name}.without_bias", result, parameter)
    less = tape.operation(f"{name}.row_scale_less_one", "elementwise", (scale,), before, stored)
    base = tape.multiply(f"{name}.base_scaled", less, result)
    more = tape.multiply(f"{name}.lora_rows", scale, extra)
    more = tape.operation(f"{name}.lora_scale", "elementwise", (more,), more.size, more.dtype)
    return tape.add(f"{name}.dora", base, more)
