"""Llama, Qwen2 and DeepSeek in eager PyTorch, as Hugging Face transformers 5 writes them (`modeling_llama.py`).

Much of what is kept comes from how the code is written: RMSNorm works in fp32 and keeps both its input and its
normalized value; under autocast the rotary tables are fp32, so rotated queries and keys are too, and every projection
makes its own 16-bit cast of the same input. With sequence parallelism a linear layer multiplies the gathered sequence
and, being PyTorch's own, keeps it (so does nanotron, `parallel/tensor_parallel/functional.py`, `column_linear`).
"""

from __future__ import annotations

from ironlaw.core.sizes import TOKENS
from ironlaw.core.units import Ratio
from ironlaw.graph.blocks.attention import fallback, fused, hugging_face_eager
from ironlaw.graph.blocks.parts import merged_projection, norm, rotate, turn
from ironlaw.graph.ir import Value
from ironlaw.graph.tape import Tape
from ironlaw.models.layers import Attention, FeedForward, LatentAttention, Norm
from ironlaw.models.transformer import Transformer


def attention(tape: Tape, x: Value, m: Transformer, a: Attention, kernel: str, dropout: Ratio, norms: Norm) -> Value:
    """Grouped-query attention with rotary positions, and norms of queries and keys where the model has them."""
    if a.merged:
        q, k, v = merged_projection(tape, "attn.c_attn", x, m, a)
    else:
        full = tape.gather("attn", x)
        q = tape.linear("attn.q_proj", full, m.hidden, a.query_width * (2 if a.gated else 1), bias=a.bias)
        if a.gated:
            parts = (("queries", TOKENS * a.query_width), ("gate", TOKENS * a.query_width))
            q, gate = tape.split("attn.gate_split", q, parts)
        k = tape.linear("attn.k_proj", full, m.hidden, a.kv_width, bias=a.bias)
        v = tape.linear("attn.v_proj", full, m.hidden, a.kv_width, bias=a.bias)
    if a.head_norm == "head":
        q = norm(tape, "attn.q_norm", q, norms, a.head_size, rows=TOKENS * a.heads)
        k = norm(tape, "attn.k_norm", k, norms, a.head_size, rows=TOKENS * a.kv_heads)
    elif a.head_norm == "width":
        q = norm(tape, "attn.q_norm", q, norms, a.query_width)
        k = norm(tape, "attn.k_norm", k, norms, a.kv_width)
    if a.rotated:
        q, k = rotate(tape, "attn.q_rope", q, a.heads, a), rotate(tape, "attn.k_rope", k, a.kv_heads, a)
    core = fused if kernel == "flash" else hugging_face_eager
    y = core(tape, "attn.core", q, k, v, a, dropout)
    if kernel == "flash" and a.joined:
        y = tape.copy("attn.core.joined", y)
    if a.gated:
        opened = tape.operation("attn.gate", "elementwise", (gate,), gate.size, gate.dtype, saves_result=True)
        y = tape.multiply("attn.gated", y, opened)
    name = "attn.c_proj" if a.merged else "attn.o_proj"
    return tape.scatter("attn", tape.linear(name, y, a.query_width, m.hidden, bias=a.out_bias))


def mlp(tape: Tape, x: Value, m: Transformer, part: FeedForward, name: str = "mlp") -> Value:
    """A feed-forward part of three matrices, or of two without a gate; Llama has no dropout here."""
    full = tape.gather(name, x)
    y = hidden(tape, full, m, part, name)
    y = tape.linear(f"{name}.down_proj" if part.gated else f"{name}.c_proj", y, part.width, m.hidden, bias=part.bias)
    return tape.scatter(name, y)


def hidden(tape: Tape, x: Value, m: Transformer, part: FeedForward, name: str) -> Value:
    """What the last matrix multiplies."""
    if not part.gated:
        y = tape.linear(f"{name}.c_fc", x, m.hidden, part.width, bias=part.bias)
        return tape.nonlinearity(f"{name}.{part.activation}", y, part.activation)
    if part.merged:
        both = tape.linear(f"{name}.gate_up_proj", x, m.hidden, 2 * part.width, bias=part.bias)
        parts = (("gate", TOKENS * part.width), ("up", TOKENS * part.width))
        gate, up = tape.split(f"{name}.split", both, parts)
        gate = tape.nonlinearity(f"{name}.{part.activation}", gate, part.activation)
    else:
        gate = tape.linear(f"{name}.gate_proj", x, m.hidden, part.width, bias=part.bias)
        gate = tape.nonlinearity(f"{name}.{part.activation}", gate, part.activation)
        up = tape.linear(f"{name}.up_proj", x, m.hidden, part.width, bias=part.bias)
    return tape.multiply(f"{name}.gated", gate, up)


def latent_attention(
    tape: Tape, x: Value, m: Transformer, a: LatentAttention, kernel: str, dropout: Ratio, norms: Norm
) -> Value:
    """Latent attention, as DeepSeek V2 and V3 have it.

    Queries go through a narrow latent or come from one matrix; keys and values are made from one latent that is normed.
    A part of each head is rotated; the key's is computed once for all heads and copied into each.
    """
    q = _latent_queries(tape, x, m, a, norms)
    parts = (("plain", TOKENS * (a.heads * a.plain_size)), ("turned", TOKENS * (a.heads * a.rotated)))
    q_plain, q_turned = tape.split("attn.q_split", q, parts)
    both = tape.linear("attn.kv_a_proj", x, m.hidden, a.rank + a.rotated, bias=a.bias)
    latent, k_turned = tape.split(
        "attn.kv_a_split", both, (("latent", TOKENS * a.rank), ("turned", TOKENS * a.rotated))
    )
    latent = norm(tape, "attn.kv_a_norm", latent, norms, a.rank)
    q_turned = turn(tape, "attn.q_rope", q_turned, q_turned.size, a.tables)
    k_turned = turn(tape, "attn.k_rope", k_turned, k_turned.size, a.tables)
    q = tape.join("attn.queries", (q_plain, q_turned), q.size)
    made = tape.linear("attn.kv_b_proj", latent, a.rank, a.heads * (a.plain_size + a.value_size), bias=False)
    k_plain, v = tape.split(
        "attn.kv_b_split",
        made,
        (("plain", TOKENS * (a.heads * a.plain_size)), ("values", TOKENS * (a.heads * a.value_size))),
    )
    # Written into an empty tensor of the latent's format, so that keys keep it whatever the rotated part has.
    k = tape.operation("attn.keys", "copy", (k_plain, k_turned), q.size, made.dtype)
    y = _latent_core(tape, q, k, v, a, kernel, dropout)
    return tape.linear("attn.o_proj", y, a.heads * a.value_size, m.hidden, bias=a.bias)


def _latent_core(tape: Tape, q: Value, k: Value, v: Value, a: LatentAttention, kernel: str, dropout: Ratio) -> Value:
    if kernel != "flash":
        return hugging_face_eager(tape, "attn.core", q, k, v, a, dropout)
    if tape.backend.name == "cpu" and a.head_size != a.value_size:  # its kernel takes heads of one size only
        return fallback(tape, "attn.core", q, k, v, a, dropout)
    return tape.copy("attn.core.joined", fused(tape, "attn.core", q, k, v, a, dropout))


def _latent_queries(tape: Tape, x: Value, m: Transformer, a: LatentAttention, norms: Norm) -> Value:
    if not a.query_rank:
        return tape.linear("attn.q_proj", x, m.hidden, a.query_width, bias=False)
    narrow = tape.linear("attn.q_a_proj", x, m.hidden, a.query_rank, bias=a.bias)
    narrow = norm(tape, "attn.q_a_norm", narrow, norms, a.query_rank)
    return tape.linear("attn.q_b_proj", narrow, a.query_rank, a.query_width, bias=False)
