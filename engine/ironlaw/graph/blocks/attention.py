"""The core of attention, four ways: fused, spelled out by the model file, by PyTorch's fallback, by Hugging Face.

Letters: a query heads, g key/value heads, d head size. All are causal; the matrix products are counted in full,
without the saving that a kernel may make by skipping the masked half.
"""

from __future__ import annotations

from ironlaw.core.sizes import BATCH, NOTHING, SEQUENCE, TOKENS, Size, as_size
from ironlaw.core.units import Count, Ratio
from ironlaw.graph import ring
from ironlaw.graph.ir import Matmul, Op, Value
from ironlaw.graph.tape import PAIRS, Tape, wider
from ironlaw.models.layers import Attention, LatentAttention
from ironlaw.numerics.dtypes import BOOL, FP16, FP32, INT64, DType

Scores = Attention | LatentAttention
"""Attention that scores every pair of tokens."""


def products(a: Scores, context: Count = 1) -> tuple[Matmul, Matmul]:
    """Scores (T x d by d x T) and output (T x T by T x d) for every query head.

    Where `context` devices share a sequence, the queries of one meet the keys and values of all.
    """
    count, keys = BATCH * a.heads, SEQUENCE * context
    return (
        Matmul(count, SEQUENCE, keys, as_size(a.head_size)),
        Matmul(count, SEQUENCE, as_size(a.value_size), keys),
    )


def output(a: Scores) -> Size:
    """Elements of what attention returns: a value's head for every query head and token."""
    return TOKENS * (a.heads * a.value_size)


def fused(tape: Tape, name: str, q: Value, k: Value, v: Value, a: Scores, dropout: Ratio) -> Value:
    """`scaled_dot_product_attention` in a fused kernel.

    Saves its inputs, its output, and one fp32 log-sum-exp per head and token. Dropout costs two integers of random
    state on CUDA; the CPU kernel has none, so PyTorch falls back to `fallback`. A window, a softcap and sinks are part
    of the kernel, as in FlashAttention's. Devices that share a sequence run it step by step around a ring.
    """
    if dropout and not tape.backend.fused_dropout:
        return fallback(tape, name, q, k, v, a, dropout)
    inputs = tuple(tape.cast(f"{name}.{part}", x, tape.precision.compute) for part, x in (("q", q), ("k", k), ("v", v)))
    out = tape.value(name, output(a), tape.precision.compute)
    lse = tape.value(f"{name}.logsumexp", TOKENS * a.heads, FP32, needs_gradient=False)
    saved = (*inputs, out, lse)
    forward, backward = ring.workspaces(tape.context, inputs, out, lse)
    with tape.region("attention"):
        scratch = _accumulators(tape, a) + backward
        return tape.record(
            Op(name, "attention", inputs, (out, lse), saved, products(a, tape.context), backward_workspace=scratch,
               forward_workspace=forward, window=a.window, ring=tape.context)
        )  # fmt: skip


def _accumulators(tape: Tape, a: Scores) -> Size:
    """What FlashAttention's backward adds up in fp32 on CUDA: the queries' gradient and one sum a head and token.

    Source: Dao-AILab/flash-attention, `csrc/flash_attn/flash_api.cpp`, `dq_accum` and `softmax_d`.
    """
    if tape.backend.name != "cuda" or tape.precision.compute.bits > 16:
        return NOTHING
    return (TOKENS * a.query_width + TOKENS * a.heads) * 4


def spelled_out(tape: Tape, name: str, q: Value, k: Value, v: Value, a: Scores, dropout: Ratio) -> Value:
    """Attention as the flat model file writes it, with the T x T scores in memory.

    Saves contiguous copies of query, key and value, the mask, the probabilities, and under dropout the dropped-out
    probabilities and their mask: 5 a T^2 B bytes in 16 bit (Korthikanti et al. 2022, section 4.1), 2 without dropout.
    """
    compute = q.dtype
    width, pairs = TOKENS * a.query_width, PAIRS * a.heads
    with tape.region("attention"):
        q, k, v = (tape.copy(f"{name}.{part}", x) for part, x in (("q", q), ("k", k), ("v", v)))
        scores = product(tape, f"{name}.scores", (q, k), pairs, products(a)[0])
        scaled = tape.operation(f"{name}.scale", "elementwise", (scores,), pairs, compute)
        future = tape.value(f"{name}.future", SEQUENCE * SEQUENCE, BOOL, needs_gradient=False)
        masked = tape.operation(f"{name}.mask", "elementwise", (scaled, future), pairs, compute, saves=(future,))
        wide = tape.precision.wide if tape.backend.fp32_softmax else masked.dtype
        weights = softmax(tape, f"{name}.softmax", masked, wide)
        weights = tape.cast(f"{name}.output", tape.dropout(f"{name}.dropout", weights, dropout), compute)
        out = product(tape, f"{name}.output", (weights, v), width, products(a)[1])
        return tape.copy(name, out)


def fallback(tape: Tape, name: str, q: Value, k: Value, v: Value, a: Scores, dropout: Ratio) -> Value:
    """What `scaled_dot_product_attention` does without a fused kernel on the CPU: the plain products, in fp32."""
    width, pairs = TOKENS * a.query_width, PAIRS * a.heads
    with tape.region("attention"):
        q, k, v = (
            tape.operation(f"{name}.{part}", "elementwise", (x,), size, FP32)
            for part, x, size in (("q", q, width), ("k", k, width), ("v", v, output(a)))
        )
        scores = product(tape, f"{name}.scores", (q, k), pairs, products(a)[0])
        weights = tape.operation(f"{name}.softmax", "softmax", (scores,), pairs, FP32, saves_result=True)
        weights = tape.dropout(f"{name}.dropout", weights, dropout)
        out = product(tape, f"{name}.output", (weights, v), output(a), products(a)[1])
        return tape.cast(name, tape.copy(name, out), tape.precision.compute)


def hugging_face_eager(tape: Tape, name: str, q: Value, k: Value, v: Value, a: Scores, dropout: Ratio) -> Value:
    """`eager_attention_forward` of transformers: keys and values repeated per query head, softmax in fp32.

    With sinks the softmax has a column more and works in its input's format (gpt-oss).
    """
    compute, kept = tape.precision.compute, q.dtype
    width, pairs = TOKENS * a.query_width, PAIRS * a.heads
    with tape.region("attention"):
        q, k, v = (tape.cast(f"{name}.{part}", x, compute) for part, x in (("q", q), ("k", k), ("v", v)))
        q, k, v = (
            tape.operation(f"{name}.{part}.copy", "copy", (x,), size, compute)
            for part, x, size in (("q", q, width), ("k", k, width), ("v", v, output(a)))
        )
        scores = product(tape, f"{name}.scores", (q, k), pairs, products(a)[0])
        scaled = tape.operation(f"{name}.scale", "elementwise", (scores,), pairs, compute)
        if isinstance(a, Attention) and a.softcap:
            scaled = capped(tape, f"{name}.softcap", scaled)
        mask = tape.value(f"{name}.causal", SEQUENCE * SEQUENCE, compute, needs_gradient=False)
        masked = tape.operation(f"{name}.mask", "elementwise", (scaled, mask), pairs, compute)
        if isinstance(a, Attention) and a.sinks:
            weights = _with_sinks(tape, name, masked, a)
        else:
            own = isinstance(a, Attention) and not a.wide_softmax
            wide = wider(compute, tape.precision.residual) if own else FP32
            weights = softmax(tape, f"{name}.softmax", masked, wide)
            weights = tape.cast(f"{name}.weights", weights, kept)
        weights = tape.dropout(f"{name}.dropout", weights, dropout)
        weights = tape.cast(f"{name}.output", weights, compute)
        out = product(tape, f"{name}.output", (weights, v), output(a), products(a)[1])
        return tape.copy(name, out)


def softmax(tape: Tape, name: str, scores: Value, dtype: DType) -> Value:
    """PyTorch's softmax in `dtype`. Saves its result, which backward on CUDA first multiplies by its gradient.

    That product is a tensor of its own. From fp16 to fp32 CUDA's kernel casts by itself. Source: PyTorch 2.13,
    `ATen/native/cuda/SoftMax.cu`, `softmax_backward_cuda_out`, and `ATen/native/SoftMax.cpp`.
    """
    cuda = tape.backend.name == "cuda"
    if not (cuda and scores.dtype == FP16 and dtype == FP32):
        scores = tape.cast(name, scores, dtype)
    out = tape.value(name, scores.size, dtype)
    product = out.byte_size if cuda else NOTHING
    return tape.record(Op(name, "softmax", (scores,), (out,), (out,), backward_workspace=product))


def capped(tape: Tape, name: str, x: Value) -> Value:
    """`tanh(x / cap) * cap`: saves what tanh gives."""
    x = tape.operation(f"{name}.divide", "elementwise", (x,), x.size, x.dtype, component=x.component)
    bounded = tape.operation(
        f"{name}.tanh", "elementwise", (x,), x.size, x.dtype, saves_result=True, component=x.component
    )
    return tape.operation(f"{name}.multiply", "elementwise", (bounded,), x.size, x.dtype, component=x.component)


def _with_sinks(tape: Tape, name: str, scores: Value, a: Attention) -> Value:
    """A column of learned scores beside the others, less the largest of each row, softmax, and the column dropped.

    The learned scores have the weights' format, so under autocast all of it is fp32.
    """
    rows = TOKENS * a.heads
    size = scores.size + rows
    dtype = wider(scores.dtype, tape.precision.weights)
    joined = tape.operation(f"{name}.sinks", "copy", (scores,), size, dtype)
    largest = tape.value(f"{name}.largest", rows, INT64, needs_gradient=False)
    top = tape.value(f"{name}.top", rows, dtype)
    tape.record(Op(f"{name}.max", "reduce", (joined,), (top, largest), (largest,)))
    lowered = tape.operation(f"{name}.subtract", "elementwise", (joined, top), size, dtype)
    weights = softmax(tape, f"{name}.softmax", lowered, dtype)
    (kept,) = tape.split(f"{name}.drop", weights, (("scores", scores.size),))
    return kept


def product(tape: Tape, name: str, factors: tuple[Value, Value], size: Size, product: Matmul) -> Value:
    """A batched product. Saves both factors."""
    out = tape.value(name, size, factors[0].dtype)
    return tape.record(Op(name, "matmul", factors, (out,), factors, (product,)))
