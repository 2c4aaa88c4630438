"""The core of attention, four ways: fused, spelled out by the model file, by PyTorch's fallback, by Hugging Face.

Letters: a query heads, g key/value heads, d head size. All are causal; the matrix products are counted in full,
without the saving that a kernel may make by skipping the masked half.
"""

from __future__ import annotations

from engine.core.sizes import BATCH, NOTHING, SEQUENCE, TOKENS, Size, as_size
from engine.core.units import Ratio
from engine.graph.ir import Matmul, Op, Value
from engine.graph.tape import PAIRS, Tape
from engine.models.transformer import Transformer
from engine.numerics.dtypes import BOOL, FP32


def products(m: Transformer) -> tuple[Matmul, Matmul]:
    """Scores (T x d by d x T) and output (T x T by T x d) for every query head."""
    count, d = BATCH * m.heads, as_size(m.head_size)
    return Matmul(count, SEQUENCE, SEQUENCE, d), Matmul(count, SEQUENCE, d, SEQUENCE)


def fused(tape: Tape, name: str, q: Value, k: Value, v: Value, m: Transformer, dropout: Ratio) -> Value:
    """`scaled_dot_product_attention` in a fused kernel.

    Saves its inputs, its output, and one fp32 log-sum-exp per head and token. Dropout costs two integers of random
    state on CUDA; the CPU kernel has none, so PyTorch falls back to `fallback`.

    """
    if dropout and not tape.backend.fused_dropout:
        return fallback(tape, name, q, k, v, m, dropout)
    inputs = tuple(tape.cast(f"{name}.{part}", x, tape.precision.compute) for part, x in (("q", q), ("k", k), ("v", v)))
    out = tape.value(name, TOKENS * m.query_width, tape.precision.compute)
    lse = tape.value(f"{name}.logsumexp", TOKENS * m.heads, FP32, needs_gradient=False)
    saved = (*inputs, out, lse)
    with tape.region("attention"):
        scratch = _accumulators(tape, m)
        return tape.record(Op(name, "attention", inputs, (out, lse), saved, products(m), backward_workspace=scratch))


def _accumulators(tape: Tape, m: Transformer) -> Size:
    """What FlashAttention's backward adds up in fp32 on CUDA: the queries' gradient and one sum a head and token.

    Source: Dao-AILab/flash-attention, `csrc/flash_attn/flash_api.cpp`, `dq_accum` and `softmax_d`.
    """
    if tape.backend.name != "cuda" or tape.precision.compute.bits > 16:
        return NOTHING
    return (TOKENS * m.query_width + TOKENS * m.heads) * 4


def spelled_out(tape: Tape, name: str, q: Value, k: Value, v: Value, m: Transformer, dropout: Ratio) -> Value:
    """Attention as the flat model file writes it, with the T x T scores in memory.

    Saves contiguous copies of query, key and value, the mask, the probabilities, and under dropout the dropped-out
    probabilities and their mask: 5 a T^2 B bytes in 16 bit (Korthikanti et al. 2022, section 4.1), 2 without dropout.
    """
    compute = q.dtype
    width, pairs = TOKENS * m.query_width, PAIRS * m.heads
    with tape.region("attention"):
        q, k, v = (tape.copy(f"{name}.{part}", x) for part, x in (("q", q), ("k", k), ("v", v)))
        scores = product(tape, f"{name}.scores", (q, k), pairs, products(m)[0])
        scaled = tape.operation(f"{name}.scale", "elementwise", (scores,), pairs, compute)
        future = tape.value(f"{name}.future", SEQUENCE * SEQUENCE, BOOL, needs_gradient=False)
        masked = tape.operation(f"{name}.mask", "elementwise", (scaled, future), pairs, compute, saves=(future,))
        if tape.backend.fp32_softmax:
            masked = tape.cast(f"{name}.softmax", masked, tape.precision.weights)
        weights = tape.operation(f"{name}.softmax", "softmax", (masked,), pairs, masked.dtype, saves_result=True)
        weights = tape.cast(f"{name}.output", tape.dropout(f"{name}.dropout", weights, dropout), compute)
        out = product(tape, f"{name}.output", (weights, v), width, products(m)[1])
        return tape.copy(name, out)


def fallback(tape: Tape, name: str, q: Value, k: Value, v: Value, m: Transformer, dropout: Ratio) -> Value:
    """What `scaled_dot_product_attention` does without a fused kernel on the CPU: the plain products, in fp32."""
    width, pairs = TOKENS * m.query_width, PAIRS * m.heads
    with tape.region("attention"):
        q, k, v = (
            tape.operation(f"{name}.{part}", "elementwise", (x,), width, FP32)
            for part, x in (("q", q), ("k", k), ("v", v))
        )
        scores = product(tape, f"{name}.scores", (q, k), pairs, products(m)[0])
        weights = tape.operation(f"{name}.softmax", "softmax", (scores,), pairs, FP32, saves_result=True)
        weights = tape.dropout(f"{name}.dropout", weights, dropout)
        out = product(tape, f"{name}.output", (weights, v), width, products(m)[1])
        return tape.cast(name, tape.copy(name, out), tape.precision.compute)


def hugging_face_eager(tape: Tape, name: str, q: Value, k: Value, v: Value, m: Transformer, dropout: Ratio) -> Value:
    """`eager_attention_forward` of transformers: keys and values repeated per query head, softmax always in fp32."""
    compute, kept = tape.precision.compute, q.dtype
    width, pairs = TOKENS * m.query_width, PAIRS * m.heads
    with tape.region("attention"):
        q, k, v = (tape.cast(f"{name}.{part}", x, compute) for part, x in (("q", q), ("k", k), ("v", v)))
        q, k, v = (
            tape.operation(f"{name}.{part}.copy", "copy", (x,), width, compute)
            for part, x in (("q", q), ("k", k), ("v", v))
        )
        scores = product(tape, f"{name}.scores", (q, k), pairs, products(m)[0])
        scaled = tape.operation(f"{name}.scale", "elementwise", (scores,), pairs, compute)
        mask = tape.value(f"{name}.causal", SEQUENCE * SEQUENCE, compute, needs_gradient=False)
        masked = tape.operation(f"{name}.mask", "elementwise", (scaled, mask), pairs, compute)
        weights = tape.cast(f"{name}.softmax", masked, FP32)
        weights = tape.operation(f"{name}.softmax", "softmax", (weights,), pairs, FP32, saves_result=True)
        weights = tape.dropout(f"{name}.dropout", tape.cast(f"{name}.weights", weights, kept), dropout)
        weights = tape.cast(f"{name}.output", weights, compute)
        out = product(tape, f"{name}.output", (weights, v), width, products(m)[1])
        return tape.copy(name, out)


def product(tape: Tape, name: str, factors: tuple[Value, Value], size: Size, product: Matmul) -> Value:
    """A batched product. Saves both factors."""
    out = tape.value(name, size, factors[0].dtype)
    return tape.record(Op(name, "matmul", factors, (out,), factors, (product,)))
