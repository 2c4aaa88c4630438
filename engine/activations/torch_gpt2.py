"""GPT-2 in eager PyTorch, as the usual flat model file writes it (`gpu_bench/gpt2.py`)."""

from __future__ import annotations

from engine.blocks import Section
from engine.models import Transformer
from engine.precision import Precision
from engine.sizes import SEQUENCE, TOKENS
from engine.tape import Tape
from engine.units import Ratio


def sections(model: Transformer, precision: Precision, attention: str, dropout: Ratio) -> tuple[Section, ...]:
    """Embedding, block and head."""
    return (
        _embedding(model, precision, dropout),
        _block(model, precision, attention, dropout),
        _head(model, precision),
    )


def _embedding(m: Transformer, precision: Precision, dropout: Ratio) -> Section:
    tape = Tape("", precision)
    tokens = tape.embedding("wte", m.hidden, TOKENS)
    positions = tape.embedding("wpe", m.hidden, SEQUENCE)
    tape.dropout("drop", tape.add("embedded", tokens, positions), dropout)
    return tape.section("embedding")


def _block(m: Transformer, precision: Precision, attention: str, dropout: Ratio) -> Section:
    tape = Tape("blocks.*.", precision)
    x = tape.hidden(m.hidden)
    normed = tape.layer_norm("ln_1", x, m.hidden, bias=m.bias)
    bias = m.bias or m.qkv_bias
    qkv = tape.linear("attn.c_attn", normed, m.hidden, m.query_width + 2 * m.kv_width, bias=bias)
    if attention == "flash":
        y = tape.flash_attention("attn.sdpa", (qkv,), m.heads, m.head_size, dropout)
    else:
        y = tape.standard_attention("attn.core", qkv, m.heads, m.head_size, dropout)
    y = tape.linear("attn.c_proj", y, m.query_width, m.hidden, bias=m.bias)
    x = tape.add("residual_1", x, tape.dropout("attn.resid_dropout", y, dropout))
    normed = tape.layer_norm("ln_2", x, m.hidden, bias=m.bias)
    y = tape.activation("mlp.gelu", tape.linear("mlp.c_fc", normed, m.hidden, m.ffn, bias=m.bias))
    y = tape.linear("mlp.c_proj", y, m.ffn, m.hidden, bias=m.bias)
    tape.add("residual_2", x, tape.dropout("mlp.dropout", y, dropout))
    return tape.section("block", m.layers)


def _head(m: Transformer, precision: Precision) -> Section:
    tape = Tape("", precision)
    x = tape.layer_norm("ln_f", tape.hidden(m.hidden), m.hidden, bias=m.bias)
    tape.cross_entropy("loss", tape.linear("lm_head", x, m.hidden, m.vocab, bias=False, component="logits"))
    return tape.section("head")
