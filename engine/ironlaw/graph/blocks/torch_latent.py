"""Latent attention in eager PyTorch, as Hugging Face transformers 5 writes DeepSeek V2 and V3.

Queries go through a narrow latent or come from one matrix; keys and values are made from one latent that is normed. A
part of each head is rotated; the key's is computed once for all heads and copied into each.
"""

from __future__ import annotations

from ironlaw.core.sizes import TOKENS
from ironlaw.core.units import Ratio
from ironlaw.graph.blocks.attention import fallback, fused, hugging_face_eager
from ironlaw.graph.blocks.parts import norm, turn
from ironlaw.graph.ir import Value
from ironlaw.graph.tape import Tape
from ironlaw.models.layers import LatentAttention, Norm
from ironlaw.models.transformer import Transformer


def attention(
    tape: Tape, x: Value, m: Transformer, a: LatentAttention, kernel: str, dropout: Ratio, norms: Norm
) -> Value:
    """Attention over keys and values from a latent."""
    q = _queries(tape, x, m, a, norms)
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
    y = _core(tape, q, k, v, a, kernel, dropout)
    return tape.linear("attn.o_proj", y, a.heads * a.value_size, m.hidden, bias=a.bias)


def _core(tape: Tape, q: Value, k: Value, v: Value, a: LatentAttention, kernel: str, dropout: Ratio) -> Value:
    if kernel != "flash":
        return hugging_face_eager(tape, "attn.core", q, k, v, a, dropout)
    if tape.backend.name == "cpu" and a.head_size != a.value_size:  # its kernel takes heads of one size only
        return fallback(tape, "attn.core", q, k, v, a, dropout)
    return tape.copy("attn.core.joined", fused(tape, "attn.core", q, k, v, a, dropout))


def _queries(tape: Tape, x: Value, m: Transformer, a: LatentAttention, norms: Norm) -> Value:
    if not a.query_rank:
        return tape.linear("attn.q_proj", x, m.hidden, a.query_width, bias=False)
    narrow = tape.linear("attn.q_a_proj", x, m.hidden, a.query_rank, bias=a.bias)
    narrow = norm(tape, "attn.q_a_norm", narrow, norms, a.query_rank)
    return tape.linear("attn.q_b_proj", narrow, a.query_rank, a.query_width, bias=False)
