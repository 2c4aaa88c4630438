"""GPT-2 in eager PyTorch, as the usual flat model file writes it (`gpu_bench/gpt2.py`)."""

from __future__ import annotations

from engine.activations.attention import Heads, fused, spelled_out
from engine.backends import Backend
from engine.blocks import Section
from engine.models import Transformer
from engine.precision import Precision
from engine.sizes import SEQUENCE, TOKENS
from engine.tape import Tape
from engine.units import Ratio


def embedding(m: Transformer, precision: Precision, backend: Backend, dropout: Ratio) -> Section:
    """Token plus position embedding."""
    tape = Tape("", precision, backend)
    tokens = tape.embedding("wte", m.vocab, m.hidden, TOKENS)
    positions = tape.embedding("wpe", m.max_seq, m.hidden, SEQUENCE)
    tape.dropout("drop", tape.add("embedded", tokens, positions), dropout)
    return tape.section("embedding")


def block(m: Transformer, precision: Precision, backend: Backend, attention: str, dropout: Ratio) -> Section:
    """One pre-norm layer with a merged projection of query, key and value."""
    tape = Tape("blocks.*.", precision, backend)
    heads = Heads(m.heads, m.kv_heads, m.head_size)
    x = tape.hidden("input", m.hidden)
    normed = tape.layer_norm("ln_1", x, m.hidden, bias=m.bias)
    bias = m.bias or m.qkv_bias
    qkv = tape.linear("attn.c_attn", normed, m.hidden, m.query_width + 2 * m.kv_width, bias=bias)
    parts = (("q", heads.query_elements), ("k", heads.kv_elements), ("v", heads.kv_elements))
    q, k, v = tape.split("attn.split", qkv, parts)
    core = fused if attention == "flash" else spelled_out
    y = core(tape, "attn.core", q, k, v, heads, dropout)
    y = tape.linear("attn.c_proj", y, m.query_width, m.hidden, bias=m.bias)
    x = tape.add("residual_1", x, tape.dropout("attn.resid_dropout", y, dropout))
    normed = tape.layer_norm("ln_2", x, m.hidden, bias=m.bias)
    y = tape.linear("mlp.c_fc", normed, m.hidden, m.ffn, bias=m.bias)
    y = tape.relu("mlp.relu", y) if m.mlp == "relu" else tape.activation("mlp.gelu", y)
    y = tape.linear("mlp.c_proj", y, m.ffn, m.hidden, bias=m.bias)
    tape.add("residual_2", x, tape.dropout("mlp.dropout", y, dropout))
    return tape.section("block", m.layers)


def norm(m: Transformer, precision: Precision, backend: Backend) -> Section:
    """The final norm."""
    tape = Tape("", precision, backend)
    tape.layer_norm("ln_f", tape.hidden("ln_f.input", m.hidden), m.hidden, bias=m.bias)
    return tape.section("norm")


def head(m: Transformer, precision: Precision, backend: Backend) -> Section:
    """Output matrix and cross-entropy."""
    tape = Tape("", precision, backend)
    x = tape.hidden("lm_head.input", m.hidden)
    logits = tape.linear("lm_head", x, m.hidden, m.vocab, bias=False, component="logits")
    tape.cross_entropy("loss", logits, precision.weights)
    return tape.section("head")
