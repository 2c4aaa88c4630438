"""Routed experts in eager PyTorch, as Hugging Face transformers 5 runs them (`integrations/moe.py`, `grouped_mm`).

A router weighs all experts, each token's pairs with its experts are sorted by expert, and all experts' products are one
launch a matrix (`torch.nn.functional.grouped_mm`). Autocast does not know that product: under it experts multiply in
the weights' own fp32. How evenly tokens are spread changes no bytes; times assume that experts have equally many.

Where devices share the experts, each pair goes to the device of its expert before the products and comes back behind
them, which sorts what it gets by expert once more: torchtitan's dispatch and combine, without padding. Source:
pytorch/torchtitan, `distributed/expert_parallel.py`, late 2025.
"""

from __future__ import annotations

from ironlaw.core.sizes import TOKENS, Size, as_size
from ironlaw.core.units import Count
from ironlaw.graph.adapters import folded
from ironlaw.graph.blocks.torch_llama import mlp
from ironlaw.graph.ir import DISPATCH, Kind, Matmul, Op, Value
from ironlaw.graph.tape import Tape
from ironlaw.models.layers import Experts
from ironlaw.models.transformer import Transformer
from ironlaw.numerics.dtypes import FP32, INT32, INT64

FP32_ROUTERS = ("sigmoid", "softmax-fp32")


def experts(tape: Tape, x: Value, m: Transformer, part: Experts) -> Value:
    """Router, permutation, two grouped products with a gate between them, the weighted sum, and the shared part."""
    weights, chosen = _router(tape, x, m, part)
    y = _routed(tape, x, m, part, weights, chosen)
    if not part.shared:
        return y
    shared = mlp(tape, x, m, part.shared_part, "mlp.shared")
    if part.shared_gate:
        gate = tape.linear("mlp.shared_gate", x, m.hidden, 1, bias=False)
        gate = tape.operation("mlp.shared_gate.sigmoid", "elementwise", (gate,), TOKENS, gate.dtype, saves_result=True)
        shared = tape.multiply("mlp.shared.gated", gate, shared)
    return tape.add("mlp.sum", y, shared)


def _router(tape: Tape, x: Value, m: Transformer, part: Experts) -> tuple[Value, Value]:
    """The weights of each token's experts, and their numbers."""
    rows = TOKENS * part.chosen
    logits = _router_logits(tape, x, m, part)
    if part.router == "chosen-softmax":
        values, chosen = _top(tape, logits, rows)
        weights = tape.operation("mlp.router.softmax", "softmax", (values,), rows, values.dtype, saves_result=True)
        return weights, chosen
    if part.router == "sigmoid":
        scores = tape.operation(
            "mlp.router.sigmoid", "elementwise", (logits,), logits.size, logits.dtype, saves_result=True
        )
        _integers(tape, "mlp.router.groups", scores, rows)
        chosen = _integers(tape, "mlp.router.top", scores, rows)
        weights = tape.operation("mlp.router.gather", "copy", (scores, chosen), rows, scores.dtype, saves=(chosen,))
    else:
        wide = tape.cast("mlp.router.softmax", logits, FP32)
        scores = tape.operation("mlp.router.softmax", "softmax", (wide,), wide.size, FP32, saves_result=True)
        weights, chosen = _top(tape, scores, rows)
    if part.renormalized or part.router == "mixtral":
        total = tape.operation("mlp.router.sum", "reduce", (weights,), TOKENS, weights.dtype)
        weights = tape.multiply("mlp.router.divide", weights, total)
    if part.router == "softmax":
        weights = tape.cast("mlp.router.weights", weights, logits.dtype)
    return weights, chosen


def _router_logits(tape: Tape, x: Value, m: Transformer, part: Experts) -> Value:
    """A score for each expert. DeepSeek's router works in fp32, on casts of its input and its weights."""
    autocast = tape.precision.autocast
    matrix = folded(tape, "mlp.router", 1, m.hidden, part.count, autocast=autocast)
    if matrix:
        working = FP32 if part.router in FP32_ROUTERS and not autocast else tape.precision.compute
        x, matrix = tape.cast("mlp.router", x, working), tape.cast("mlp.router.weight", matrix, working)
        out = tape.value("mlp.router", TOKENS * part.count, working)
        product = Matmul(as_size(1), TOKENS, as_size(part.count), as_size(m.hidden))
        return tape.record(Op("mlp.router", "matmul", (x, matrix), (out,), (x, matrix), (product,)))
    if part.router not in FP32_ROUTERS or tape.precision.autocast:
        return tape.linear("mlp.router", x, m.hidden, part.count, bias=part.bias)
    wide, elements = tape.cast("mlp.router", x, FP32), m.hidden * part.count
    saved = [wide]
    if tape.precision.weights != FP32:
        saved.append(tape.value("mlp.router.weight.cast", as_size(elements), FP32, needs_gradient=False))
    out = tape.value("mlp.router", TOKENS * part.count, FP32)
    product = Matmul(as_size(1), TOKENS, as_size(part.count), as_size(m.hidden))
    return tape.record(
        Op("mlp.router", "matmul", (wide,), (out,), tuple(saved), (product,), elements, FP32, trains=elements)
    )


def _top(tape: Tape, scores: Value, rows: Size) -> tuple[Value, Value]:
    """The largest scores of each token. Saves where they are."""
    values = tape.value("mlp.router.top", rows, scores.dtype)
    chosen = tape.value("mlp.router.top.indices", rows, INT64, needs_gradient=False)
    tape.record(Op("mlp.router.top", "reduce", (scores,), (values, chosen), (chosen,)))
    return values, chosen


def _integers(tape: Tape, name: str, of: Value, size: Size, kind: Kind = "copy") -> Value:
    """An operation on whole numbers, or on scores for their order alone: nothing to differentiate."""
    source = Value(of.name, of.size, of.dtype, of.component, needs_gradient=False, view_of=of)
    out = tape.value(name, size, INT64, needs_gradient=False)
    return tape.record(Op(name, kind, (source,), (out,)))


def _routed(tape: Tape, x: Value, m: Transformer, part: Experts, weights: Value, chosen: Value) -> Value:
    rows = TOKENS * part.chosen
    groups = _integers(tape, "mlp.groups", chosen, rows)
    order = _integers(tape, "mlp.order", chosen, rows)
    sources = _integers(tape, "mlp.sources", order, rows)
    taken = tape.operation("mlp.taken", "copy", (x, sources), rows * m.hidden, x.dtype, saves=(sources,))
    weights = tape.operation("mlp.weights", "copy", (weights, order), rows, weights.dtype, saves=(order,))
    _integers(tape, "mlp.histogram", chosen, as_size(part.count))
    offsets = tape.value("mlp.offsets", as_size(part.held), INT32, needs_gradient=False)
    tape.record(Op("mlp.offsets", "copy", (chosen,), (offsets,)))
    there = TOKENS * part.taken if part.taken else rows
    if part.ways > 1:
        taken = tape.operation(DISPATCH, "send", (taken,), there * m.hidden, taken.dtype)
        groups = _integers(tape, "mlp.received.groups", groups, there)
        sorting = _integers(tape, "mlp.received.order", groups, there)
        taken = tape.operation("mlp.received", "copy", (taken, sorting), taken.size, taken.dtype, saves=(sorting,))
    which = groups if part.bias else None
    both = _experts_product(tape, "gate_up", taken, offsets, (part.held, m.hidden, 2 * part.width), which)
    inner = _gate(tape, both, part, there)
    out = _experts_product(tape, "down", inner, offsets, (part.held, part.width, m.hidden), which)
    if part.ways > 1:
        out = tape.operation("mlp.returned", "copy", (out, sorting), out.size, out.dtype, saves=(sorting,))
        out = tape.operation("mlp.combined", "send", (out,), rows * m.hidden, out.dtype)
    out = tape.multiply("mlp.weighted", out, weights)
    back = _integers(tape, "mlp.back", order, rows)
    out = tape.operation("mlp.restored", "copy", (out, back), out.size, out.dtype, saves=(back,))
    out = tape.operation("mlp.sum_of_chosen", "reduce", (out,), TOKENS * m.hidden, out.dtype)
    return tape.cast("mlp.result", out, x.dtype)


def _experts_product(
    tape: Tape, name: str, x: Value, offsets: Value, sizes: tuple[Count, Count, Count], which: Value | None
) -> Value:
    """One of the experts' two products, with the adapters of its matrices where they have any."""
    matrices = folded(tape, f"mlp.experts.{name}_proj", *sizes, autocast=False)
    return tape.grouped(f"mlp.experts.{name}", x, offsets, *sizes, which, matrices=matrices)


def _gate(tape: Tape, both: Value, part: Experts, rows: Size) -> Value:
    half = rows * part.width
    gate, up = tape.split("mlp.experts.split", both, (("gate", half), ("up", half)))
    if part.activation != "clamped":
        opened = tape.nonlinearity(f"mlp.experts.{part.activation}", gate, part.activation)
        return tape.multiply("mlp.experts.gated", opened, up)
    gate = tape.operation("mlp.experts.gate_clamp", "elementwise", (gate,), half, gate.dtype, saves=(gate,))
    up = tape.operation("mlp.experts.up_clamp", "elementwise", (up,), half, up.dtype, saves=(up,))
    scaled = tape.operation("mlp.experts.alpha", "elementwise", (gate,), half, gate.dtype)
    bent = tape.operation("mlp.experts.sigmoid", "elementwise", (scaled,), half, gate.dtype, saves_result=True)
    glu = tape.multiply("mlp.experts.glu", gate, bent)
    more = tape.operation("mlp.experts.plus_one", "elementwise", (up,), half, up.dtype, passes_gradient=True)
    return tape.multiply("mlp.experts.gated", more, glu)
