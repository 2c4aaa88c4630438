"""Megatron-LM's blocks with its fused kernels, as Korthikanti et al. count them (arXiv 2205.05198, section 4.1).

Norms, scale-mask-softmax, bias-GELU and SwiGLU are single kernels that save only their input or result; the paper
leaves out the norms' statistics, and so does this list. Per block of a GPT in 16 bit with dropout it keeps
s b h (34 + 5 a s / h) bytes; 10 + 24/t with tensor parallelism, 34/t when the sequence is divided too.
"""

from __future__ import annotations

from engine.core.sizes import SEQUENCE, TOKENS, Size
from engine.core.units import Count, Ratio
from engine.graph.backends import Backend
from engine.graph.blocks.attention import Heads, fused
from engine.graph.ir import Matmul, Op, Section, Value
from engine.graph.tape import PAIRS, Tape
from engine.models.transformer import Transformer
from engine.numerics.dtypes import FP32
from engine.numerics.precision import Precision


def sections(
    m: Transformer, precision: Precision, backend: Backend, attention: str, dropout: Ratio, sequence_shards: Count
) -> tuple[Section, ...]:
    """Embedding, block, final norm and head of one tensor-parallel shard."""
    return (
        _embedding(m, Tape("", precision, backend, sequence_shards), dropout),
        _block(m, Tape("blocks.*.", precision, backend, sequence_shards), attention, dropout),
        _final_norm(m, Tape("", precision, backend, sequence_shards)),
        _head(m, Tape("", precision, backend, sequence_shards)),
    )


def _embedding(m: Transformer, tape: Tape, dropout: Ratio) -> Section:
    x = tape.embedding("wte", m.vocab, m.hidden, TOKENS)
    if m.position == "learned":
        x = tape.add("embedded", x, tape.embedding("wpe", m.position_rows, m.hidden, SEQUENCE))
    if m.embedding_norm:
        x = _norm(tape, "ln_0", x, m)
    tape.dropout("drop", tape.scatter("embedded", x), dropout)
    return tape.section("embedding")


def _block(m: Transformer, tape: Tape, attention: str, dropout: Ratio) -> Section:
    heads = Heads(m.heads, m.kv_heads, m.head_size)
    x = tape.hidden("input", m.hidden)
    normed = _norm(tape, "ln_1", x, m)
    width, bias = m.query_width + 2 * m.kv_width, m.bias or m.qkv_bias
    qkv = tape.linear("attn.qkv", tape.gather("attn", normed), m.hidden, width, bias=bias, shard=normed)
    parts = (("q", heads.query_elements), ("k", heads.kv_elements), ("v", heads.kv_elements))
    q, k, v = tape.split("attn.split", qkv, parts)
    if attention == "flash":
        y = fused(tape, "attn.core", q, k, v, heads, dropout)
    else:
        y = _core(tape, "attn.core", q, k, v, heads, dropout, biased=m.position == "alibi")
    y = tape.scatter("attn", tape.linear("attn.proj", y, m.query_width, m.hidden, bias=m.bias))
    x = tape.add("residual_1", x, tape.dropout("attn.dropout", y, dropout))
    if not m.parallel:
        normed = _norm(tape, "ln_2", x, m)
    gates = 2 if m.mlp == "swiglu" else 1
    full = tape.gather("mlp", normed)
    y = tape.linear("mlp.fc1", full, m.hidden, gates * m.ffn, bias=m.bias, shard=normed)
    y = tape.operation(f"mlp.{m.mlp}", "elementwise", (y,), TOKENS * m.ffn, y.dtype, saves=(y,))
    y = tape.scatter("mlp", tape.linear("mlp.fc2", y, m.ffn, m.hidden, bias=m.bias))
    tape.add("residual_2", x, tape.dropout("mlp.dropout", y, dropout))
    return tape.section("block", m.layers)


def _final_norm(m: Transformer, tape: Tape) -> Section:
    _norm(tape, "ln_f", tape.hidden("ln_f.input", m.hidden), m)
    return tape.section("norm")


def _head(m: Transformer, tape: Tape) -> Section:
    x = tape.hidden("lm_head.input", m.hidden)
    full = tape.gather("lm_head", x)
    logits = tape.linear("lm_head", full, m.hidden, m.vocab, bias=False, component="logits", shard=x)
    tape.cross_entropy("loss", logits, FP32)
    return tape.section("head")


def _norm(tape: Tape, name: str, x: Value, m: Transformer) -> Value:
    """One kernel for LayerNorm or RMSNorm. Saves its input."""
    out = tape.value(name, x.size, x.dtype)
    weights = 2 * m.hidden if m.bias and m.norm == "layernorm" else m.hidden
    dtype = tape.precision.weights
    return tape.record(Op(name, "norm", (x,), (out,), (x,), weights=weights, weight_dtype=dtype, trains=weights))


def _core(tape: Tape, name: str, q: Value, k: Value, v: Value, heads: Heads, dropout: Ratio, *, biased: bool) -> Value:
    """Scores, one kernel for scale, mask and softmax, dropout, output.

    A bias by distance (ALiBi) is written out for every pair before the product adds to it: `torch.baddbmm`.
    """
    pairs = PAIRS * heads.query
    with tape.region("attention"):
        if biased:
            bias = tape.value(f"{name}.alibi", pairs, q.dtype, needs_gradient=False)
            tape.record(Op(f"{name}.bias", "copy", (bias,), (tape.value(f"{name}.bias", pairs, q.dtype),)))
        scores = _product(tape, f"{name}.scores", q, k, pairs, heads.products[0])
        weights = tape.operation(f"{name}.softmax", "softmax", (scores,), pairs, scores.dtype, saves_result=True)
        weights = tape.dropout(f"{name}.dropout", weights, dropout)
        return _product(tape, f"{name}.output", weights, v, heads.query_elements, heads.products[1])


def _product(tape: Tape, name: str, a: Value, b: Value, size: Size, product: Matmul) -> Value:
    return tape.record(Op(name, "matmul", (a, b), (tape.value(name, size, a.dtype),), (a, b), (product,)))
