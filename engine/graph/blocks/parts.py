"""What families have in common: embedding, a block's frame, norms, head, rotary positions."""

from __future__ import annotations

from collections.abc import Callable

from engine.core.sizes import SEQUENCE, TOKENS
from engine.core.units import Ratio
from engine.graph.ir import Section, Value
from engine.graph.tape import Tape, wider
from engine.models.transformer import Transformer
from engine.numerics.dtypes import FP32, DType


def embedding(m: Transformer, tape: Tape, dropout: Ratio) -> Section:
    """Token embedding, plus positions where they are learned. PyTorch makes rotary tables here, for every layer."""
    if m.position == "rope" and not tape.by_hand:
        for name in ("rope.cos", "rope.sin"):
            tape.table(name, SEQUENCE * m.head_size)
    x = tape.embedding("wte", m.vocab, m.hidden, TOKENS)
    if m.position == "learned":
        x = tape.add("embedded", x, tape.embedding("wpe", m.position_rows, m.hidden, SEQUENCE))
    if m.embedding_norm:
        x = norm(tape, "ln_0", x, m)
    tape.dropout("drop", tape.scatter("embedded", x), dropout)
    return tape.section("embedding")


def block(
    m: Transformer,
    tape: Tape,
    attention: Callable[[Tape, Value, Transformer, str, Ratio], Value],
    mlp: Callable[[Tape, Value, Transformer, Ratio], Value],
    kernel: str,
    dropout: Ratio,
) -> Section:
    """One pre-norm layer with its family's attention and MLP, which some models run side by side."""
    x = tape.hidden("input", m.hidden)
    normed = norm(tape, "ln_1", x, m)
    x = tape.add("residual_1", x, attention(tape, normed, m, kernel, dropout))
    if not m.parallel:
        normed = norm(tape, "ln_2", x, m)
    tape.add("residual_2", x, mlp(tape, normed, m, dropout))
    return tape.section("block", m.layers)


def final_norm(m: Transformer, tape: Tape) -> Section:
    """The norm between the last block and the head."""
    norm(tape, "ln_f", tape.hidden("ln_f.input", m.hidden), m)
    return tape.section("norm")


def head(m: Transformer, tape: Tape, dtype: DType) -> Section:
    """Output matrix, and a cross-entropy in `dtype`."""
    x = tape.hidden("lm_head.input", m.hidden)
    full = tape.gather("lm_head", x)
    logits = tape.linear("lm_head", full, m.hidden, m.vocab, bias=False, component="logits", shard=x)
    tape.cross_entropy("loss", logits, dtype)
    return tape.section("head")


def merged_projection(tape: Tape, name: str, x: Value, m: Transformer) -> tuple[Value, ...]:
    """Query, key and value as views of one product's result."""
    bias, q, kv = m.bias or m.qkv_bias, m.query_width, m.kv_width
    qkv = tape.linear(name, tape.gather("attn", x), m.hidden, q + 2 * kv, bias=bias, shard=x)
    return tape.split("attn.split", qkv, (("q", TOKENS * q), ("k", TOKENS * kv), ("v", TOKENS * kv)))


def norm(tape: Tape, name: str, x: Value, m: Transformer) -> Value:
    """The model's kind of normalization: one kernel, or for RMSNorm separate operations. Megatron's saves its input."""
    if tape.by_hand:
        return tape.weighted(name, "norm", x, x.dtype, 2 * m.hidden if m.bias and m.norm == "layernorm" else m.hidden)
    if m.norm == "layernorm":
        return tape.layer_norm(name, x, m.hidden, bias=m.bias)
    if tape.backend.fused_rms_norm:
        return tape.rms_norm(name, x, m.hidden)
    return _rms_norm(tape, name, x, m)


def _rms_norm(tape: Tape, name: str, x: Value, m: Transformer) -> Value:
    """Squares, mean, reciprocal root, product and weight as separate operations, in fp32 but for the last."""
    wide = tape.cast(name, x, FP32)
    squares = tape.operation(f"{name}.pow", "elementwise", (wide,), wide.size, FP32, saves=(wide,))
    variance = tape.operation(f"{name}.mean", "reduce", (squares,), TOKENS, FP32)
    scale = tape.operation(f"{name}.rsqrt", "elementwise", (variance,), TOKENS, FP32, saves_result=True)
    normalized = tape.multiply(f"{name}.normalized", wide, scale)
    narrow = tape.cast(f"{name}.narrow", normalized, x.dtype)
    return tape.weighted(name, "elementwise", narrow, wider(x.dtype, tape.precision.weights), m.hidden)


def rotate(tape: Tape, name: str, x: Value) -> Value:
    """`x * cos + rotate_half(x) * sin`. Keeps nothing of x: the tables need no gradient."""
    dtype = wider(x.dtype, tape.precision.residual)
    cosine = tape.operation(f"{name}.cos", "elementwise", (x,), x.size, dtype)
    half = tape.operation(f"{name}.half", "copy", (x,), x.size, x.dtype)
    sine = tape.operation(f"{name}.sin", "elementwise", (half,), x.size, dtype)
    return tape.add(name, cosine, sine)
