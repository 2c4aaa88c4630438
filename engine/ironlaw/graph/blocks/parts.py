"""What families have in common: embedding, a block's frame, norms, head with its loss, rotary positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from ironlaw.core.sizes import BATCH, SEQUENCE, TOKENS, Size, as_size
from ironlaw.core.units import Count, Ratio
from ironlaw.graph.blocks.attention import capped
from ironlaw.graph.ir import Op, Section, Value
from ironlaw.graph.tape import Tape, wider
from ironlaw.models.layers import Attention, Layer, LinearAttention, Norm, Tables
from ironlaw.models.transformer import Transformer
from ironlaw.numerics.dtypes import FP32, INT64, DType

LossForm = Literal["full", "fused", "fused-linear"]
LogitsFormat = Literal["16-bit", "16-bit-shifted", "fp32", "fp32-shifted", "fp32-shifted-early"]
Part = Callable[[Tape, Value], Value]
"""What a layer does with its normed input: attention, or the feed-forward part."""


def embedding(m: Transformer, tape: Tape, dropout: Ratio) -> Section:
    """Token embedding, plus positions where they are learned. PyTorch makes rotary tables here, for every layer."""
    if not tape.by_hand:
        for index, (size, kind) in enumerate(rotary_tables(m)):
            _tables(tape, f".{index}" if index else "", size, kind)
    x = tape.embedding("wte", m.vocab, m.hidden, TOKENS)
    if m.scaled_embedding:
        x = tape.operation("wte.scaled", "elementwise", (x,), x.size, x.dtype)
    if m.position == "learned":
        x = tape.add("embedded", x, tape.embedding("wpe", m.position_rows, m.hidden, SEQUENCE))
    if m.embedding_norm:
        x = norm(tape, "ln_0", x, m.norm, m.hidden, bias=m.bias)
    tape.dropout("drop", tape.scatter("embedded", x), dropout)
    return tape.section("embedding")


def rotary_tables(m: Transformer) -> tuple[tuple[Count, Tables], ...]:
    """Rotated elements and form of each set of rotary tables; layers with other frequencies have a set of their own."""
    kinds = [
        (layer.attention.rotated, layer.attention.tables)
        for layer, _ in m.kinds
        if not isinstance(layer.attention, LinearAttention) and layer.attention.rotated
    ]
    return tuple(dict.fromkeys(kinds)) * max(m.frequencies, 1)


def _tables(tape: Tape, suffix: str, rotated: Count, kind: Tables) -> None:
    if kind == "complex":  # half as many numbers of two fp32 each
        tape.table(f"rope{suffix}", SEQUENCE * rotated, FP32)
        return
    size = rotated // 2 if kind == "halves" else rotated
    for name in ("rope.cos", "rope.sin"):
        tape.table(name + suffix, SEQUENCE * size, FP32 if kind == "fp32" else tape.precision.residual)


def block(m: Transformer, layer: Layer, count: Count, tape: Tape, attention: Part, mlp: Part) -> Section:
    """One layer: attention and feed-forward part, each with its norms and its residual."""

    def normed(name: str, x: Value, there: bool) -> Value:
        return norm(tape, name, x, layer.norm, m.hidden, bias=layer.bias) if there else x

    def ran(part: Part, x: Value) -> Value:
        y = part(tape, x)
        if not tape.by_hand:
            tape.holding(x)
        return y

    x = tape.hidden("input", m.hidden)
    before = normed("ln_1", x, layer.before)
    y = normed("ln_1_after", ran(attention, before), layer.after)
    if layer.parallel:
        second = before if layer.shared_norm else normed("ln_2", x, layer.before)
    x = tape.add("residual_1", x, y)
    if not layer.parallel:
        second = normed("ln_2", x, layer.before)
    tape.add("residual_2", x, normed("ln_2_after", ran(mlp, second), layer.after))
    return tape.section("block", count)


def final_norm(m: Transformer, tape: Tape) -> Section:
    """The norm between the last block and the head."""
    norm(tape, "ln_f", tape.hidden("ln_f.input", m.hidden), m.stack[-1][0].norm, m.hidden, bias=m.bias)
    return tape.section("norm")


def head(m: Transformer, tape: Tape, dtype: DType, form: LossForm, logits: LogitsFormat | None) -> Section:
    """Output matrix and cross-entropy.

    Sources: transformers, `modeling_llama.py` to 4.45, `loss/loss_utils.py` after; unsloth, `cross_entropy_loss.py`.

    Args:
        m: The transformer.
        tape: Where operations are written down.
        dtype: Format of a loss that is not fused, as the model's code has it.
        form: As `ironlaw.config.choices.Loss` says, and so `logits`.
        logits: What becomes of the logits before the loss.
    """
    x = tape.hidden("lm_head.input", m.hidden)
    full = tape.gather("lm_head", x)
    early = logits == "fp32-shifted-early" and tape.precision.compute != FP32
    scores = tape.linear(
        "lm_head", full, m.hidden, m.vocab, bias=False, component="activations" if early else "logits", shard=x
    )
    if m.logit_softcap and form != "fused-linear":  # its kernel does that too
        scores = capped(tape, "lm_head.softcap", scores)
    wanted = FP32 if logits and logits.startswith("fp32") else scores.dtype if logits or form != "full" else dtype
    if scores.dtype != wanted:
        scores = tape.operation("loss.cast", "cast", (scores,), scores.size, wanted, component="logits")
    rows = TOKENS
    if logits and "shifted" in logits:
        rows = rows + BATCH * -1
        scores = tape.operation("loss.shift", "copy", (scores,), rows * m.vocab, wanted, component="logits")
    (_cross_entropy if form == "full" else _fused)(tape, scores, rows)
    return replace(tape.section("head"), holds_input=logits is not None)


def _cross_entropy(tape: Tape, logits: Value, rows: Size) -> None:
    """PyTorch's mean cross-entropy. Saves log-probabilities in the format of the logits, and targets (int64)."""
    targets = tape.value("loss.targets", rows, INT64, needs_gradient=False)
    log_probabilities = tape.operation(
        "loss.log_softmax", "softmax", (logits,), logits.size, logits.dtype, saves_result=True, component="logits"
    )
    inputs = (log_probabilities, targets)
    total_weight = tape.value("loss.total_weight", as_size(1), logits.dtype, needs_gradient=False)
    tape.operation("loss", "loss", inputs, as_size(1), logits.dtype, saves=(*inputs, total_weight))


def _fused(tape: Tape, logits: Value, rows: Size) -> None:
    """One kernel forward and one backward. Saves the logits, a log-sum-exp and a target a token."""
    targets = tape.value("loss.targets", rows, INT64, needs_gradient=False)
    loss = tape.value("loss", as_size(1), FP32)
    losses, lse = (tape.value(f"loss.{part}", rows, FP32, needs_gradient=False) for part in ("each", "logsumexp"))
    saved = (logits, lse, targets)
    tape.record(Op("loss", "softmax", (logits, targets), (loss, losses, lse), saved, in_place=True))


def merged_projection(tape: Tape, name: str, x: Value, m: Transformer, a: Attention) -> tuple[Value, ...]:
    """Query, key and value as views of one product's result."""
    q, kv = a.query_width, a.kv_width
    qkv = tape.linear(name, tape.gather("attn", x), m.hidden, q + 2 * kv, bias=a.bias, shard=x)
    return tape.split("attn.split", qkv, (("q", TOKENS * q), ("k", TOKENS * kv), ("v", TOKENS * kv)))


def norm(
    tape: Tape, name: str, x: Value, kind: Norm, width: Count, *, bias: bool = False, rows: Size = TOKENS
) -> Value:
    """A normalization of `rows` of `width`: one kernel, or for RMSNorm several. Megatron's saves its input."""
    if tape.by_hand:
        return tape.weighted(name, "norm", x, x.dtype, 2 * width if bias and kind == "layernorm" else width)
    if kind == "layernorm":
        return tape.layer_norm(name, x, width, bias=bias)
    if tape.backend.fused_rms_norm:
        return tape.rms_norm(name, x, width, rows)
    return _rms_norm(tape, name, x, kind, width, rows)


def _rms_norm(tape: Tape, name: str, x: Value, kind: Norm, width: Count, rows: Size) -> Value:
    """Squares, mean, reciprocal root, product and weight as separate operations, in fp32 but for the last.

    The weight multiplies in the input's format, or in fp32 before the result is narrowed; one plus the weight is a
    tensor of its own.
    """
    wide = tape.cast(name, x, FP32)
    squares = tape.power(f"{name}.pow", wide)
    variance = tape.operation(f"{name}.mean", "reduce", (squares,), rows, FP32)
    scale = tape.operation(f"{name}.rsqrt", "elementwise", (variance,), rows, FP32, saves_result=True)
    normalized = tape.multiply(f"{name}.normalized", wide, scale)
    if kind == "rmsnorm":
        narrow = tape.cast(f"{name}.narrow", normalized, x.dtype)
        return tape.weighted(name, "elementwise", narrow, wider(x.dtype, tape.precision.weights), width)
    factors: tuple[Value, ...] = ()
    if kind == "rmsnorm-offset":
        factors = (tape.value(f"{name}.offset", as_size(width), FP32, needs_gradient=False),)
    scaled = tape.weighted(f"{name}.scaled", "elementwise", normalized, FP32, width, factors)
    return tape.cast(name, scaled, x.dtype)


def rotate(tape: Tape, name: str, x: Value, heads: Count, a: Attention) -> Value:
    """Rotary positions on some elements of each head. Keeps nothing of x: the tables need no gradient."""
    size = TOKENS * (heads * a.rotated)
    if size == x.size:
        return turn(tape, name, x, size, a.tables)
    return tape.join(name, (turn(tape, f"{name}.turned", x, size, a.tables), x), x.size)


def turn(tape: Tape, name: str, x: Value, size: Size, kind: Tables) -> Value:
    """`size` elements of x rotated: `x * cos + rotate_half(x) * sin`, or the same in halves or as complex numbers."""
    dtype = wider(x.dtype, tape.precision.residual)
    if kind == "halves":
        return _turn_halves(tape, name, x, size, dtype)
    if kind == "complex":
        wide = tape.cast(name, x, FP32)
        turned = tape.operation(f"{name}.complex", "elementwise", (wide,), size, FP32)
        return tape.cast(f"{name}.turned", turned, x.dtype)
    if kind == "fp32":
        dtype = FP32
    cosine = tape.operation(f"{name}.cos", "elementwise", (x,), size, dtype)
    half = tape.operation(f"{name}.half", "copy", (x,), size, x.dtype)
    sine = tape.operation(f"{name}.sin", "elementwise", (half,), size, dtype)
    turned = tape.add(name, cosine, sine)
    return tape.cast(f"{name}.turned", turned, x.dtype) if kind == "fp32" else turned


def _turn_halves(tape: Tape, name: str, x: Value, size: Size, dtype: DType) -> Value:
    """Four products of halves, a difference, a sum, and the two joined (gpt-oss)."""
    half = size.split(2)
    turned = []
    for part, joined in (("first", "difference"), ("second", "sum")):
        cosine = tape.operation(f"{name}.{part}.cos", "elementwise", (x,), half, dtype)
        sine = tape.operation(f"{name}.{part}.sin", "elementwise", (x,), half, dtype)
        turned.append(tape.add(f"{name}.{joined}", cosine, sine))
    return tape.join(name, tuple(turned), size)
