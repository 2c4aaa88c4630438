"""The GPT-2 family in eager PyTorch, as the usual flat model file writes it (`gpu_bench/measure/gpt2.py`).

With sequence parallelism a linear layer multiplies the gathered sequence and, being PyTorch's own, keeps it.
"""

from __future__ import annotations

from ironlaw.core.units import Ratio
from ironlaw.graph.blocks.attention import fused, spelled_out
from ironlaw.graph.blocks.parts import merged_projection, rotate
from ironlaw.graph.ir import Value
from ironlaw.graph.tape import Tape
from ironlaw.models.layers import Attention, FeedForward
from ironlaw.models.transformer import Transformer


def attention(tape: Tape, x: Value, m: Transformer, a: Attention, kernel: str, dropout: Ratio) -> Value:
    """A merged projection of query, key and value, the core of attention, the output projection."""
    q, k, v = merged_projection(tape, "attn.c_attn", x, m, a)
    if a.rotated:
        q, k = rotate(tape, "attn.q_rope", q, a.heads, a), rotate(tape, "attn.k_rope", k, a.kv_heads, a)
    core = fused if kernel == "flash" else spelled_out
    y = core(tape, "attn.core", q, k, v, a, dropout)
    y = tape.scatter("attn", tape.linear("attn.c_proj", y, a.query_width, m.hidden, bias=a.out_bias))
    return tape.dropout("attn.resid_dropout", y, dropout)


def mlp(tape: Tape, x: Value, m: Transformer, part: FeedForward, dropout: Ratio) -> Value:
    """Two matrices with a nonlinearity between them."""
    y = tape.linear("mlp.c_fc", tape.gather("mlp", x), m.hidden, part.width, bias=part.bias)
    y = tape.relu("mlp.relu", y) if part.activation == "relu" else tape.activation("mlp.gelu", y)
    y = tape.scatter("mlp", tape.linear("mlp.c_proj", y, part.width, m.hidden, bias=part.bias))
    return tape.dropout("mlp.dropout", y, dropout)
