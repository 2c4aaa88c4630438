"""The GPT-2 family in eager PyTorch, as the usual flat model file writes it (`gpu_bench/measure/gpt2.py`).

With sequence parallelism a linear layer multiplies the gathered sequence and, being PyTorch's own, keeps it.
"""

from __future__ import annotations

from engine.core.units import Ratio
from engine.graph.blocks.attention import fused, spelled_out
from engine.graph.blocks.parts import merged_projection, rotate
from engine.graph.ir import Value
from engine.graph.tape import Tape
from engine.models.transformer import Transformer


def attention(tape: Tape, x: Value, m: Transformer, kernel: str, dropout: Ratio) -> Value:
    """A merged projection of query, key and value, the core of attention, the output projection."""
    q, k, v = merged_projection(tape, "attn.c_attn", x, m)
    if m.position == "rope":
        q, k = rotate(tape, "attn.q_rope", q), rotate(tape, "attn.k_rope", k)
    core = fused if kernel == "flash" else spelled_out
    y = core(tape, "attn.core", q, k, v, m, dropout)
    y = tape.scatter("attn", tape.linear("attn.c_proj", y, m.query_width, m.hidden, bias=m.bias))
    return tape.dropout("attn.resid_dropout", y, dropout)


def mlp(tape: Tape, x: Value, m: Transformer, dropout: Ratio) -> Value:
    """Two matrices with a nonlinearity between them."""
    y = tape.linear("mlp.c_fc", tape.gather("mlp", x), m.hidden, m.ffn, bias=m.bias)
    y = tape.relu("mlp.relu", y) if m.mlp == "relu" else tape.activation("mlp.gelu", y)
    y = tape.scatter("mlp", tape.linear("mlp.c_proj", y, m.ffn, m.hidden, bias=m.bias))
    return tape.dropout("mlp.dropout", y, dropout)
