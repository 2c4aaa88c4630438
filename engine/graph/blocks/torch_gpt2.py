"""The GPT-2 family in eager PyTorch, as the usual flat model file writes it (`gpu_bench/measure/gpt2.py`).

With sequence parallelism a linear layer multiplies the gathered sequence and, being PyTorch's own, keeps it.
"""

from __future__ import annotations

from engine.core.units import Count, Ratio
from engine.graph.backends import Backend
from engine.graph.blocks.attention import Heads, fused, spelled_out
from engine.graph.blocks.parts import norm, rotate
from engine.graph.ir import Section
from engine.graph.tape import Tape
from engine.models.transformer import Transformer
from engine.numerics.precision import Precision


def block(
    m: Transformer, precision: Precision, backend: Backend, attention: str, dropout: Ratio, sequence_shards: Count
) -> Section:
    """One pre-norm layer with a merged projection of query, key and value and an MLP of two matrices."""
    tape = Tape("blocks.*.", precision, backend, sequence_shards)
    heads = Heads(m.heads, m.kv_heads, m.head_size)
    x = tape.hidden("input", m.hidden)
    normed = norm(tape, "ln_1", x, m)
    bias = m.bias or m.qkv_bias
    full, width = tape.gather("attn", normed), m.query_width + 2 * m.kv_width
    qkv = tape.linear("attn.c_attn", full, m.hidden, width, bias=bias)
    parts = (("q", heads.query_elements), ("k", heads.kv_elements), ("v", heads.kv_elements))
    q, k, v = tape.split("attn.split", qkv, parts)
    if m.position == "rope":
        q, k = rotate(tape, "attn.q_rope", q), rotate(tape, "attn.k_rope", k)
    core = fused if attention == "flash" else spelled_out
    y = core(tape, "attn.core", q, k, v, heads, dropout)
    y = tape.scatter("attn", tape.linear("attn.c_proj", y, m.query_width, m.hidden, bias=m.bias))
    x = tape.add("residual_1", x, tape.dropout("attn.resid_dropout", y, dropout))
    if not m.parallel:
        normed = norm(tape, "ln_2", x, m)
    y = tape.linear("mlp.c_fc", tape.gather("mlp", normed), m.hidden, m.ffn, bias=m.bias)
    y = tape.relu("mlp.relu", y) if m.mlp == "relu" else tape.activation("mlp.gelu", y)
    y = tape.scatter("mlp", tape.linear("mlp.c_proj", y, m.ffn, m.hidden, bias=m.bias))
    tape.add("residual_2", x, tape.dropout("mlp.dropout", y, dropout))
    return tape.section("block", m.layers)


def head(m: Transformer, precision: Precision, backend: Backend, sequence_shards: Count) -> Section:
    """Output matrix, and a cross-entropy in the logits' format (fp32 under autocast)."""
    tape = Tape("", precision, backend, sequence_shards)
    x = tape.hidden("lm_head.input", m.hidden)
    full = tape.gather("lm_head", x)
    logits = tape.linear("lm_head", full, m.hidden, m.vocab, bias=False, component="logits")
    tape.cross_entropy("loss", logits, precision.weights)
    return tape.section("head")
