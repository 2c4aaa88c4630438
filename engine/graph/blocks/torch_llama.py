"""Llama and Qwen2 in eager PyTorch, as Hugging Face transformers 5 writes them (`models/llama/modeling_llama.py`).

Much of what is kept comes from how the code is written: RMSNorm works in fp32 and keeps both its input and its
normalized value; under autocast the rotary tables are fp32, so rotated queries and keys are too, and every projection
makes its own 16-bit cast of the same input. With sequence parallelism a linear layer multiplies the gathered sequence
and, being PyTorch's own, keeps it (so does nanotron, `parallel/tensor_parallel/functional.py`, `column_linear`).
"""

from __future__ import annotations

from engine.core.units import Ratio
from engine.graph.blocks.attention import fused, hugging_face_eager
from engine.graph.blocks.parts import rotate
from engine.graph.ir import Value
from engine.graph.tape import Tape
from engine.models.transformer import Transformer


def attention(tape: Tape, x: Value, m: Transformer, kernel: str, dropout: Ratio) -> Value:
    """Grouped-query attention with rotary positions."""
    bias, full = m.bias or m.qkv_bias, tape.gather("attn", x)
    q = tape.linear("attn.q_proj", full, m.hidden, m.query_width, bias=bias)
    k = tape.linear("attn.k_proj", full, m.hidden, m.kv_width, bias=bias)
    v = tape.linear("attn.v_proj", full, m.hidden, m.kv_width, bias=bias)
    if m.position == "rope":
        q, k = rotate(tape, "attn.q_rope", q), rotate(tape, "attn.k_rope", k)
    core = fused if kernel == "flash" else hugging_face_eager
    y = core(tape, "attn.core", q, k, v, m, dropout)
    return tape.scatter("attn", tape.linear("attn.o_proj", y, m.query_width, m.hidden, bias=m.bias))


def mlp(tape: Tape, x: Value, m: Transformer, dropout: Ratio) -> Value:
    """A gated MLP of three matrices; Llama has no dropout here."""
    full = tape.gather("mlp", x)
    gate = tape.activation("mlp.silu", tape.linear("mlp.gate_proj", full, m.hidden, m.ffn, bias=m.bias))
    up = tape.linear("mlp.up_proj", full, m.hidden, m.ffn, bias=m.bias)
    y = tape.linear("mlp.down_proj", tape.multiply("mlp.gated", gate, up), m.ffn, m.hidden, bias=m.bias)
    return tape.scatter("mlp", y)
