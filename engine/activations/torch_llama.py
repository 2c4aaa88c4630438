"""Llama and Qwen2 in eager PyTorch, as Hugging Face transformers 5 writes them (`models/llama/modeling_llama.py`).

Much of what is kept comes from how the code is written: RMSNorm works in fp32 and keeps both its input and its
normalized value; under autocast the rotary tables are fp32, so rotated queries and keys are too, and every projection
makes its own 16-bit cast of the same input.
"""

from __future__ import annotations

from engine.activations.attention import Heads, fused, hugging_face_eager
from engine.backends import Backend
from engine.blocks import Section, Value
from engine.dtypes import FP32
from engine.models import Transformer
from engine.precision import Precision
from engine.sizes import SEQUENCE, TOKENS
from engine.tape import Tape, wider
from engine.units import Count, Ratio


def embedding(m: Transformer, precision: Precision, backend: Backend) -> Section:
    """Token embedding. The rotary tables are made once and kept by every layer, so they are counted here."""
    tape = Tape("", precision, backend)
    if m.position == "rope":
        for name in ("rope.cos", "rope.sin"):
            tape.table(name, SEQUENCE * m.head_size)
    tape.embedding("wte", m.vocab, m.hidden, TOKENS)
    return tape.section("embedding")


def block(m: Transformer, precision: Precision, backend: Backend, attention: str, dropout: Ratio) -> Section:
    """One pre-norm layer: grouped-query attention with rotary positions, then a gated MLP."""
    tape = Tape("blocks.*.", precision, backend)
    heads = Heads(m.heads, m.kv_heads, m.head_size)
    x = tape.hidden("input", m.hidden)
    normed = _rms_norm(tape, "ln_1", x, m.hidden)
    bias = m.bias or m.qkv_bias
    q = tape.linear("attn.q_proj", normed, m.hidden, m.query_width, bias=bias)
    k = tape.linear("attn.k_proj", normed, m.hidden, m.kv_width, bias=bias)
    v = tape.linear("attn.v_proj", normed, m.hidden, m.kv_width, bias=bias)
    if m.position == "rope":
        q, k = _rotate(tape, "attn.q_rope", q), _rotate(tape, "attn.k_rope", k)
    core = fused if attention == "flash" else hugging_face_eager
    y = core(tape, "attn.core", q, k, v, heads, dropout)
    y = tape.linear("attn.o_proj", y, m.query_width, m.hidden, bias=m.bias)
    x = tape.add("residual_1", x, y)
    normed = _rms_norm(tape, "ln_2", x, m.hidden)
    gate = tape.linear("mlp.gate_proj", normed, m.hidden, m.ffn, bias=m.bias)
    gate = tape.activation("mlp.silu", gate)
    up = tape.linear("mlp.up_proj", normed, m.hidden, m.ffn, bias=m.bias)
    y = tape.linear("mlp.down_proj", tape.multiply("mlp.gated", gate, up), m.ffn, m.hidden, bias=m.bias)
    tape.add("residual_2", x, y)
    return tape.section("block", m.layers)


def norm(m: Transformer, precision: Precision, backend: Backend) -> Section:
    """The final norm."""
    tape = Tape("", precision, backend)
    _rms_norm(tape, "ln_f", tape.hidden("ln_f.input", m.hidden), m.hidden)
    return tape.section("norm")


def head(m: Transformer, precision: Precision, backend: Backend) -> Section:
    """Output matrix, and a cross-entropy that always works in fp32."""
    tape = Tape("", precision, backend)
    x = tape.hidden("lm_head.input", m.hidden)
    logits = tape.linear("lm_head", x, m.hidden, m.vocab, bias=False, component="logits")
    tape.cross_entropy("loss", logits, FP32)
    return tape.section("head")


def _rms_norm(tape: Tape, name: str, x: Value, width: Count) -> Value:
    """Squares, mean, reciprocal root, product and weight as separate operations, in fp32 but for the last."""
    wide = tape.cast(name, x, FP32)
    squares = tape.operation(f"{name}.pow", "elementwise", (wide,), wide.size, FP32, saves=(wide,))
    variance = tape.operation(f"{name}.mean", "reduce", (squares,), TOKENS, FP32)
    scale = tape.operation(f"{name}.rsqrt", "elementwise", (variance,), TOKENS, FP32, saves_result=True)
    normalized = tape.multiply(f"{name}.normalized", wide, scale)
    return tape.scale_by_weight(name, tape.cast(f"{name}.narrow", normalized, x.dtype), width)


def _rotate(tape: Tape, name: str, x: Value) -> Value:
    """`x * cos + rotate_half(x) * sin`. Keeps nothing of x: the tables need no gradient."""
    dtype = wider(x.dtype, tape.precision.residual)
    cosine = tape.operation(f"{name}.cos", "elementwise", (x,), x.size, dtype)
    half = tape.operation(f"{name}.half", "copy", (x,), x.size, x.dtype)
    sine = tape.operation(f"{name}.sin", "elementwise", (half,), x.size, dtype)
    return tape.add(name, cosine, sine)
