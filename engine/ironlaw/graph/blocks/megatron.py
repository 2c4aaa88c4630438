"""Megatron-LM's blocks with its fused kernels, as Korthikanti et al. count them (arXiv 2205.05198, section 4.1).

Norms, scale-mask-softmax, bias-GELU and SwiGLU are single kernels that save only their input or result; the paper
leaves out the norms' statistics, and so does this list. Per block of a GPT in 16 bit with dropout it keeps
s b h (34 + 5 a s / h) bytes; 10 + 24/t with tensor parallelism, 34/t when the sequence is divided too.
"""

from __future__ import annotations

from functools import partial

from ironlaw.core.sizes import TOKENS
from ironlaw.core.units import Ratio
from ironlaw.graph.blocks.attention import fused, product, products
from ironlaw.graph.blocks.parts import merged_projection
from ironlaw.graph.ir import Op, Value
from ironlaw.graph.tape import PAIRS, Tape
from ironlaw.models.layers import Attention, FeedForward
from ironlaw.models.transformer import Transformer


def attention(tape: Tape, x: Value, m: Transformer, a: Attention, kernel: str, dropout: Ratio) -> Value:
    """A merged projection of query, key and value, the core of attention, the output projection."""
    q, k, v = merged_projection(tape, "attn.qkv", x, m, a)
    core = fused if kernel == "flash" else partial(_core, alibi=m.position == "alibi")
    y = core(tape, "attn.core", q, k, v, a, dropout)
    y = tape.scatter("attn", tape.linear("attn.proj", y, a.query_width, m.hidden, bias=a.out_bias))
    return tape.dropout("attn.dropout", y, dropout)


def mlp(tape: Tape, x: Value, m: Transformer, part: FeedForward, dropout: Ratio) -> Value:
    """Two matrices; the first also holds the gate's columns, where the model has a gate."""
    gates = 2 if part.gated else 1
    y = tape.linear("mlp.fc1", tape.gather("mlp", x), m.hidden, gates * part.width, bias=part.bias, shard=x)
    y = tape.operation(f"mlp.{part.name}", "elementwise", (y,), TOKENS * part.width, y.dtype, saves=(y,))
    y = tape.scatter("mlp", tape.linear("mlp.fc2", y, part.width, m.hidden, bias=part.bias))
    return tape.dropout("mlp.dropout", y, dropout)


def _core(tape: Tape, name: str, q: Value, k: Value, v: Value, a: Attention, dropout: Ratio, *, alibi: bool) -> Value:
    """Scores, one kernel for scale, mask and softmax, dropout, output.

    A bias by distance (ALiBi) is written out for every pair before the product adds to it: `torch.baddbmm`.
    """
    pairs = PAIRS * a.heads
    with tape.region("attention"):
        if alibi:
            bias = tape.value(f"{name}.alibi", pairs, q.dtype, needs_gradient=False)
            tape.record(Op(f"{name}.bias", "copy", (bias,), (tape.value(f"{name}.bias", pairs, q.dtype),)))
        scores = product(tape, f"{name}.scores", (q, k), pairs, products(a)[0])
        weights = tape.operation(f"{name}.softmax", "softmax", (scores,), pairs, scores.dtype, saves_result=True)
        weights = tape.dropout(f"{name}.dropout", weights, dropout)
        return product(tape, f"{name}.output", (weights, v), TOKENS * a.query_width, products(a)[1])
