"""Which tensors a framework keeps from forward to backward: one operation list per framework and model family."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from itertools import groupby
from typing import Literal, get_args

from ironlaw.core.errors import EngineError, require_name
from ironlaw.core.units import Count, Ratio
from ironlaw.graph.adaptation import FULL, Adaptation, Training, by_layer
from ironlaw.graph.blocks import megatron, parts, torch_gpt2, torch_llama
from ironlaw.graph.blocks.parts import LogitsFormat, LossForm
from ironlaw.graph.ir import Section
from ironlaw.graph.tape import Backend, Tape
from ironlaw.graph.tape import backend as backend_by_name
from ironlaw.models.layers import Attention, Dropouts, FeedForward, LatentAttention, Layer
from ironlaw.models.transformer import Transformer
from ironlaw.numerics.dtypes import FP32
from ironlaw.numerics.precision import Precision

AttentionKernel = Literal["flash", "standard"]
FrameworkName = Literal["torch", "megatron"]


@lru_cache(maxsize=512)
def sections(
    model: Transformer,
    precision: Precision,
    attention: AttentionKernel = "flash",
    dropout: Ratio | None = 0.0,
    backend: str | Backend = "cuda",
    framework: FrameworkName = "torch",
    sequence_shards: Count = 1,
    *,
    adaptation: Adaptation = FULL,
    loss: LossForm = "full",
    logits: LogitsFormat | None = None,
    input_gradient: bool = False,
    context: Count = 1,
) -> tuple[Section, ...]:
    """The forward pass of one training step as sections of operations: embedding, block, norm, head.

    Where blocks differ in what is trained, there is a section for every run of like ones, from the first to the last.

    Args:
        model: The transformer.
        precision: The precision mode.
        attention: `"flash"` fuses attention, `"standard"` keeps the T x T probabilities.
        dropout: Probability of dropout in every place where the model file has it (Llama's family: on attention's
            probabilities); what its configuration says of each when None.
        backend: Whose kernels run, `"cuda"` or `"cpu"`.
        framework: Whose operation list, `"torch"` (eager) or `"megatron"` (fused kernels, 16-bit).
        sequence_shards: Devices that divide norms and residuals along the sequence (sequence parallelism).
        adaptation: What is trained.
        loss: How head and loss are computed.
        logits: What becomes of the logits before the loss.
        input_gradient: Whether the first block's input has a gradient although nothing before it is trained.
        context: Devices that share every sequence; a sequence's tokens are then those of one of them.

    Raises:
        EngineError: For an unknown attention, framework or backend, a dropout outside [0, 1).
    """
    require_name("attention", attention, get_args(AttentionKernel))
    require_name("framework", framework, get_args(FrameworkName))
    if dropout is not None and not 0 <= dropout < 1:
        raise EngineError("dropout", dropout, "at least 0 and below 1")
    kernels, by_hand = backend_by_name(backend), framework == "megatron"
    rates = _rates(model, dropout, by_hand=by_hand)

    formats = adaptation.around(precision)

    def tape(prefix: str = "", training: Training | None = None) -> Tape:
        return Tape(prefix, formats, kernels, sequence_shards, by_hand=by_hand, training=training, context=context)

    flat = model.code == "flat"

    @cache
    def block(layer: Layer, count: Count = 1, training: Training | None = None) -> Section:
        attend, feed = _parts(model, layer, attention, rates, by_hand=by_hand)
        return parts.block(model, layer, count, tape("blocks.*.", training), attend, feed)

    outside, beside = (None, ()) if adaptation.everything else by_layer(model, adaptation)
    embedding = parts.embedding(model, tape("", outside), rates.embedding or 0.0)
    blocks = [block(layer, count) for layer, count in model.kinds] if adaptation.everything else []
    passes = input_gradient or any(op.trains for op in embedding.ops)
    in_order = (layer for layer, count in model.stack for _ in range(count))
    for (layer, training), alike in groupby(zip(in_order, beside, strict=bool(beside))):
        # The first block after all that is frozen sees an input without gradient; those after it do not.
        count = len(list(alike))
        while count:
            one = block(layer, 1, replace(training, input_gradient=passes))
            after = one.output.needs_gradient
            run = count if after == passes else 1
            blocks.append(replace(one, count=run))
            count, passes = count - run, after
    if outside:
        outside = replace(outside, input_gradient=passes)
    norm = parts.final_norm(model, tape("", outside))
    if outside:
        outside = replace(outside, input_gradient=norm.output.needs_gradient)
    return (
        embedding,
        *blocks,
        norm,
        parts.head(model, tape("", outside), formats.wide if flat and not by_hand else FP32, loss, logits),
    )


def _rates(m: Transformer, dropout: Ratio | None, *, by_hand: bool) -> Dropouts:
    """Of a place that the framework's code for this model has, the rate asked for, or the model's own."""
    if by_hand or m.code == "flat":
        return Dropouts(0.0, 0.0, 0.0, 0.0).at(dropout or 0.0)
    own = m.dropouts or Dropouts()
    return own if dropout is None else own.at(dropout)


def _parts(
    m: Transformer, layer: Layer, kernel: AttentionKernel, rates: Dropouts, *, by_hand: bool
) -> tuple[parts.Part, parts.Part]:
    """Attention and feed-forward part of a layer, as its framework and model file write them."""
    a, feed = layer.attention, layer.feed_forward
    if by_hand or m.code == "flat":
        family = megatron if by_hand else torch_gpt2
        if not (isinstance(a, Attention) and a.plain and isinstance(feed, FeedForward)):
            raise EngineError("model", m.name, "of plain attention and dense feed-forward parts", {"code": "flat"})
        return (
            lambda tape, x: family.attention(tape, x, m, a, kernel, rates.scores or 0.0),
            lambda tape, x: family.mlp(tape, x, m, feed, rates.feed_forward or 0.0),
        )
    return (
        _dropped("attn.dropout", _attend(m, layer, kernel, rates.scores or 0.0), rates.attention),
        _dropped("mlp.dropout", _feed(m, layer), rates.feed_forward),
    )


def _dropped(name: str, part: parts.Part, rate: Ratio | None) -> parts.Part:
    return (lambda tape, x: tape.dropout(name, part(tape, x), rate)) if rate else part


def _attend(m: Transformer, layer: Layer, kernel: AttentionKernel, dropout: Ratio) -> parts.Part:
    a = layer.attention
    if isinstance(a, Attention):
        return lambda tape, x: torch_llama.attention(tape, x, m, a, kernel, dropout, layer.norm)
    if isinstance(a, LatentAttention):
        return lambda tape, x: torch_llama.latent_attention(tape, x, m, a, kernel, dropout, layer.norm)
    raise NotImplementedError


def _feed(m: Transformer, layer: Layer) -> parts.Part:
    feed = layer.feed_forward
    if isinstance(feed, FeedForward):
        return lambda tape, x: torch_llama.mlp(tape, x, m, feed)
    from ironlaw.graph.blocks import torch_experts

    return lambda tape, x: torch_experts.experts(tape, x, m, feed)
