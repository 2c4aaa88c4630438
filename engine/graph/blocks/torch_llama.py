"""Llama and Qwen2 in eager PyTorch, as Hugging Face transformers 5 writes them (`models/llama/modeling_llama.py`).

Much of what is kept comes from how the code is written: RMSNorm works in fp32 and keeps both its input and its
normalized value; under autocast the rotary tables are fp32, so rotated queries and keys are too, and every projection
makes its own 16-bit cast of the same input. With sequence parallelism a linear layer multiplies the gathered sequence
and, being PyTorch's own, keeps it (so does nanotron, `parallel/tensor_parallel/functional.py`, `column_linear`).
"""

from __future__ import annotations

from engine.core.units import Count, Ratio
from engine.graph.backends import Backend
from engine.graph.blocks.attention import Heads, fused, hugging_face_eager
from engine.graph.blocks.parts import norm, rotate
from engine.graph.ir import Section
from engine.graph.tape import Tape
from engine.models.transformer import Transformer
from engine.numerics.dtypes import FP32
from engine.numerics.precision import Precision


def block(
    m: Transformer, precision: Precision, backend: Backend, attention: str, dropout: Ratio, sequence_shards: Count
) -> Section:
    """One pre-norm layer: grouped-query attention with rotary positions, then a gated MLP of three matrices."""
    tape = Tape("blocks.*.", precision, backend, sequence_shards)
    heads = Heads(m.heads, m.kv_heads, m.head_size)
    x = tape.hidden("input", m.hidden)
    normed = norm(tape, "ln_1", x, m)
    bias = m.bias or m.qkv_bias
    full = tape.gather("attn", normed)
    q = tape.linear("attn.q_proj", full, m.hidden, m.query_width, bias=bias)
    k = tape.linear("attn.k_proj", full, m.hidden, m.kv_width, bias=bias)
    v = tape.linear("attn.v_proj", full, m.hidden, m.kv_width, bias=bias)
    if m.position == "rope":
        q, k = rotate(tape, "attn.q_rope", q), rotate(tape, "attn.k_rope", k)
    core = fused if attention == "flash" else hugging_face_eager
    y = core(tape, "attn.core", q, k, v, heads, dropout)
    y = tape.linear("attn.o_proj", y, m.query_width, m.hidden, bias=m.bias)
    x = tape.add("residual_1", x, tape.scatter("attn", y))
    if not m.parallel:
        normed = norm(tape, "ln_2", x, m)
    full = tape.gather("mlp", normed)
    gate = tape.linear("mlp.gate_proj", full, m.hidden, m.ffn, bias=m.bias)
    gate = tape.activation("mlp.silu", gate)
    up = tape.linear("mlp.up_proj", full, m.hidden, m.ffn, bias=m.bias)
    y = tape.linear("mlp.down_proj", tape.multiply("mlp.gated", gate, up), m.ffn, m.hidden, bias=m.bias)
    tape.add("residual_2", x, tape.scatter("mlp", y))
    return tape.section("block", m.layers)


def head(m: Transformer, precision: Precision, backend: Backend, sequence_shards: Count) -> Section:
    """Output matrix, and a cross-entropy that always works in fp32."""
    tape = Tape("", precision, backend, sequence_shards)
    x = tape.hidden("lm_head.input", m.hidden)
    full = tape.gather("lm_head", x)
    logits = tape.linear("lm_head", full, m.hidden, m.vocab, bias=False, component="logits")
    tape.cross_entropy("loss", logits, FP32)
    return tape.section("head")
