"""What block lists have in common: the embedding, the norms, rotary positions."""

from __future__ import annotations

from engine.core.sizes import SEQUENCE, TOKENS
from engine.core.units import Count, Ratio
from engine.graph.backends import Backend
from engine.graph.ir import Section, Value
from engine.graph.tape import Tape, wider
from engine.models.transformer import Transformer
from engine.numerics.dtypes import FP32
from engine.numerics.precision import Precision


def embedding(
    m: Transformer, precision: Precision, backend: Backend, dropout: Ratio, sequence_shards: Count
) -> Section:
    """Token embedding, plus positions where they are learned. Rotary tables are made here once, for every layer."""
    tape = Tape("", precision, backend, sequence_shards)
    if m.position == "rope":
        for name in ("rope.cos", "rope.sin"):
            tape.table(name, SEQUENCE * m.head_size)
    x = tape.embedding("wte", m.vocab, m.hidden, TOKENS)
    if m.position == "learned":
        x = tape.add("embedded", x, tape.embedding("wpe", m.position_rows, m.hidden, SEQUENCE))
    if m.embedding_norm:
        x = norm(tape, "ln_0", x, m)
    tape.dropout("drop", tape.scatter("embedded", x), dropout)
    return tape.section("embedding")


def final_norm(m: Transformer, precision: Precision, backend: Backend, sequence_shards: Count) -> Section:
    """The norm between the last block and the head."""
    tape = Tape("", precision, backend, sequence_shards)
    norm(tape, "ln_f", tape.hidden("ln_f.input", m.hidden), m)
    return tape.section("norm")


def norm(tape: Tape, name: str, x: Value, m: Transformer) -> Value:
    """The model's kind of normalization: a fused kernel for LayerNorm; for RMSNorm one too, or separate operations."""
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
    return tape.scale_by_weight(name, tape.cast(f"{name}.narrow", normalized, x.dtype), m.hidden)


def rotate(tape: Tape, name: str, x: Value) -> Value:
    """`x * cos + rotate_half(x) * sin`. Keeps nothing of x: the tables need no gradient."""
    dtype = wider(x.dtype, tape.precision.residual)
    cosine = tape.operation(f"{name}.cos", "elementwise", (x,), x.size, dtype)
    half = tape.operation(f"{name}.half", "copy", (x,), x.size, x.dtype)
    sine = tape.operation(f"{name}.sin", "elementwise", (half,), x.size, dtype)
    return tape.add(name, cosine, sine)
