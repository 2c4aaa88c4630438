"""Kinds of layers: how a layer mixes tokens, what its feed-forward part is, and where its norms stand.

A transformer is a list of layers. Layers of one kind have equal tensors and equal operations; they differ in their
numbers alone.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import Literal, get_args

from ironlaw.core.errors import EngineError, settle_fields
from ironlaw.core.units import Count, Ratio

Norm = Literal["layernorm", "rmsnorm", "rmsnorm-fp32", "rmsnorm-offset"]
"""RMSNorm's weight multiplies in the input's format, in fp32 (OLMo 2, gpt-oss), or plus one in fp32 (Gemma)."""
HeadNorm = Literal["none", "head", "width"]
Activation = Literal["gelu", "gelu-new", "relu", "silu", "clamped"]
Tables = Literal["whole", "halves", "fp32", "complex"]
Router = Literal["softmax", "softmax-fp32", "chosen-softmax", "sigmoid", "mixtral"]


@dataclass(frozen=True, slots=True)
class Dropouts:
    """Where a model file drops elements in training, and how probably; None where it has no dropout.

    Attributes:
        scores: On the probabilities of attention.
        attention: On the result of attention's output projection.
        feed_forward: On the result of the feed-forward part, or on the sum of both where they run side by side.
        embedding: On the first block's input.
    """

    scores: Ratio | None = 0.0
    attention: Ratio | None = None
    feed_forward: Ratio | None = None
    embedding: Ratio | None = None

    def common(self, *, everywhere: bool) -> Ratio | None:
        """The rate that all places share, or all that a GPT has, 0 where there is none; None where they differ."""
        rates = {rate or 0.0 for rate in astuple(self) if everywhere or rate is not None}
        return rates.pop() if len(rates) == 1 else None

    def at(self, rate: Ratio) -> Dropouts:
        """The same places, each with this rate."""
        return Dropouts(*(None if own is None else rate for own in astuple(self)))


@dataclass(frozen=True, slots=True)
class Attention:
    """Attention by heads; fewer key/value heads than query heads share them (grouped, or multi-query with one).

    Attributes:
        heads: Query heads, a.
        kv_heads: Key/value heads, g.
        head_size: d.
        rotated: Elements of each head that a rotary embedding turns; 0 without one.
        window: Tokens that a query sees, itself included; 0 for all before it.
        bias: Whether query, key and value projections have biases.
        out_bias: Whether the output projection has one.
        merged: Whether query, key and value come from one matrix.
        head_norm: RMSNorm of queries and keys: none, of each `head`, or of the whole `width`.
        softcap: Whether a tanh bounds the scores (Gemma 2).
        sinks: Whether each head has a learned score that takes part in the softmax and in nothing else (gpt-oss).
        gated: Whether a sigmoid gate, from a query projection twice as wide, multiplies the output (Qwen3-Next).
        tables: How rotary angles are kept, see `LatentAttention`.
        wide_softmax: Whether the softmax of attention by plain products works in fp32, whatever the format.
    """

    heads: Count
    kv_heads: Count
    head_size: Count
    rotated: Count = 0
    window: Count = 0
    bias: bool = False
    out_bias: bool = False
    merged: bool = False
    head_norm: HeadNorm = "none"
    softcap: bool = False
    sinks: bool = False
    gated: bool = False
    tables: Tables = "whole"
    wide_softmax: bool = True

    def __post_init__(self) -> None:
        counts = {"heads": 1, "kv_heads": 1, "head_size": 1, "rotated": 0, "window": 0}
        switches = ("bias", "out_bias", "merged", "softcap", "sinks", "gated", "wide_softmax")
        settle_fields(self, counts, {"head_norm": get_args(HeadNorm), "tables": get_args(Tables)}, switches)
        if self.heads % self.kv_heads:
            raise EngineError("kv_heads", self.kv_heads, f"a divisor of {self.heads}", {"heads": self.heads})
        if self.rotated > self.head_size:
            raise EngineError("rotated", self.rotated, f"at most {self.head_size}", {"head_size": self.head_size})

    @property
    def cached(self) -> Count:
        """Elements of keys and values that generating keeps of a token."""
        return self.kv_heads * (self.head_size + self.value_size)

    @property
    def query_width(self) -> Count:
        """Width of all query heads side by side, a d."""
        return self.heads * self.head_size

    @property
    def kv_width(self) -> Count:
        """Width of all key heads side by side, g d."""
        return self.kv_heads * self.head_size

    @property
    def value_size(self) -> Count:
        """Size of a value's head, d."""
        return self.head_size

    @property
    def joined(self) -> bool:
        """Whether rotated queries are joined from parts, which gives fused attention's result another order."""
        return self.rotated > 0 and (self.rotated < self.head_size or self.tables == "halves")

    @property
    def plain(self) -> bool:
        """Whether it has nothing but heads, rotation and biases."""
        return (self.window, self.head_norm) == (0, "none") and not (self.softcap or self.sinks or self.gated)

    def divided(self, ways: Count) -> Attention:
        """The share of one of `ways` devices; key/value heads fewer than `ways` are repeated (Megatron-LM)."""
        return replace(self, heads=self.heads // ways, kv_heads=max(1, self.kv_heads // ways))


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek V2, arXiv 2405.04434): keys and values come from one narrow latent.

    Attributes:
        heads: Heads, a.
        query_rank: Width of the queries' latent; 0 where one matrix makes queries.
        rank: Width of the latent of keys and values.
        plain_size: Elements of a query's or key's head that are not rotated.
        rotated: Elements of it that are; the key's are shared by all heads.
        value_size: Elements of a value's head.
        bias: Whether the projections from the hidden state, and the output projection, have biases.
        tables: How rotary angles are kept: cosines and sines of every rotated element in the residual stream's format
            (`whole`) or in fp32, of every other one where halves or pairs are turned apart (`halves`), or `complex`.
    """

    heads: Count
    query_rank: Count
    rank: Count
    plain_size: Count
    rotated: Count
    value_size: Count
    bias: bool = False
    tables: Tables = "whole"

    def __post_init__(self) -> None:
        counts = {"heads": 1, "query_rank": 0, "rank": 1, "plain_size": 1, "rotated": 1, "value_size": 1}
        settle_fields(self, counts, {"tables": get_args(Tables)}, ("bias",))

    @property
    def head_size(self) -> Count:
        """Size of a query's and a key's head."""
        return self.plain_size + self.rotated

    @property
    def kv_heads(self) -> Count:
        """Heads of keys and values where scores are computed: as many as of queries."""
        return self.heads

    @property
    def cached(self) -> Count:
        """Elements that generating keeps of a token: of what keys and values are made from."""
        return self.rank + self.rotated

    @property
    def unfolded(self) -> Count:
        """Elements that a layer makes of them while it generates: the product, and keys and values put together."""
        return self.kv_heads * (self.plain_size + self.head_size + 2 * self.value_size)

    @property
    def query_width(self) -> Count:
        """Width of all query heads side by side."""
        return self.heads * self.head_size

    @property
    def window(self) -> Count:
        """Every query sees all tokens before it."""
        return 0


@dataclass(frozen=True, slots=True)
class LinearAttention:
    """A gated delta rule (arXiv 2412.06464): a state per head instead of scores for every pair (Qwen3-Next).

    Attributes:
        key_heads: Heads of queries and keys.
        value_heads: Heads of values; each has a gate and a decay.
        key_size: Elements of a query's or key's head.
        value_size: Elements of a value's head.
        kernel: Tokens that the causal convolution before the rule sees.
        separate: Whether the gate of the output and the two scalars per head come from matrices of their own (Qwen3.5).
    """

    key_heads: Count
    value_heads: Count
    key_size: Count
    value_size: Count
    kernel: Count
    separate: bool = False

    def __post_init__(self) -> None:
        counts = dict.fromkeys(("key_heads", "value_heads", "key_size", "value_size", "kernel"), 1)
        settle_fields(self, counts, {}, ("separate",))
        if self.value_heads % self.key_heads:
            heads = {"key_heads": self.key_heads}
            raise EngineError("value_heads", self.value_heads, f"a multiple of {self.key_heads}", heads)

    @property
    def cached(self) -> Count:
        """Nothing: its state does not grow with the tokens."""
        return 0

    @property
    def key_width(self) -> Count:
        """Width of all keys side by side."""
        return self.key_heads * self.key_size

    @property
    def value_width(self) -> Count:
        """Width of all values side by side."""
        return self.value_heads * self.value_size

    @property
    def convolved(self) -> Count:
        """Channels of the convolution: queries, keys, values."""
        return 2 * self.key_width + self.value_width


@dataclass(frozen=True, slots=True)
class FeedForward:
    """A dense feed-forward part: two matrices, or three with a gate (swiglu: silu and a gate; geglu: gelu and a gate).

    Attributes:
        width: f.
        activation: Its nonlinearity.
        gated: Whether a second input matrix's result is multiplied with the first's.
        bias: Whether its matrices have biases.
        merged: Whether gate and input matrix are one.
    """

    width: Count
    activation: Activation = "gelu"
    gated: bool = False
    bias: bool = False
    merged: bool = False

    def __post_init__(self) -> None:
        settle_fields(self, {"width": 1}, {"activation": get_args(Activation)}, ("gated", "bias", "merged"))

    @property
    def name(self) -> str:
        """As the field calls it."""
        if not self.gated:
            return self.activation
        return {"silu": "swiglu", "gelu": "geglu"}.get(self.activation, f"gated {self.activation}")

    def divided(self, ways: Count) -> FeedForward:
        """The share of one of `ways` devices."""
        return replace(self, width=self.width // ways)


@dataclass(frozen=True, slots=True)
class Experts:
    """A routed feed-forward part: every token goes to some of many gated parts, and to those that are shared by all.

    Attributes:
        count: Experts, E.
        chosen: Experts of a token, k.
        width: Of an expert, f.
        activation: Its nonlinearity; `clamped` is gpt-oss's, a sigmoid gate with bounds.
        bias: Whether experts and router have biases.
        shared: Width of the part that all tokens take; 0 without one.
        shared_gate: Whether a learned sigmoid weighs the shared part (Qwen2-MoE).
        shared_bias: Whether the matrices of the shared part have biases (DeepSeek V2).
        router: How a token's experts are weighted: `softmax` over all and then the largest (Qwen; `softmax-fp32`,
            DeepSeek V2; `mixtral`, whose weights stay fp32), `chosen-softmax` over the largest (gpt-oss), or `sigmoid`
            of each with a correction that gradients do not see (DeepSeek V3).
        renormalized: Whether the weights of the chosen are divided by their sum.
        ways: Devices that share the experts, each with as many.
        taken: Pairs of a token and an expert on one of these devices, per token of its own; k when 0.
    """

    count: Count
    chosen: Count
    width: Count
    activation: Activation = "silu"
    bias: bool = False
    shared: Count = 0
    shared_gate: bool = False
    shared_bias: bool = False
    router: Router = "softmax"
    renormalized: bool = True
    ways: Count = 1
    taken: Count = 0

    def __post_init__(self) -> None:
        names = {"activation": get_args(Activation), "router": get_args(Router)}
        counts = {"count": 1, "chosen": 1, "width": 1, "shared": 0, "ways": 1, "taken": 0}
        settle_fields(self, counts, names, ("bias", "shared_gate", "shared_bias", "renormalized"))
        if self.chosen > self.count:
            raise EngineError("chosen", self.chosen, f"at most {self.count}", {"count": self.count})

    @property
    def held(self) -> Count:
        """Experts of a device."""
        return self.count // self.ways

    @property
    def shared_part(self) -> FeedForward:
        """The part that all tokens take, where there is one."""
        return FeedForward(self.shared, self.activation, gated=True, bias=self.shared_bias)


@dataclass(frozen=True, slots=True)
class Layer:
    """One kind of layer.

    Attributes:
        attention: How tokens see each other.
        feed_forward: What follows, token by token.
        norm: The kind of its norms.
        before: Whether a norm stands before attention and before the feed-forward part.
        after: Whether a norm stands after each (Gemma, OLMo 2).
        parallel: Whether both parts read the layer's input side by side.
        shared_norm: Whether they then read one norm of it (PaLM, Falcon 7B) instead of one each (NeoX).
        bias: Whether LayerNorms have biases.
    """

    attention: Attention | LatentAttention | LinearAttention
    feed_forward: FeedForward | Experts
    norm: Norm = "rmsnorm"
    before: bool = True
    after: bool = False
    parallel: bool = False
    shared_norm: bool = False
    bias: bool = False

    def __post_init__(self) -> None:
        settle_fields(self, {}, {"norm": get_args(Norm)}, ("before", "after", "parallel", "shared_norm", "bias"))
        if not (self.before or self.after):
            raise EngineError("before", False, "True where no norm stands after", {"after": False})

    @property
    def plain(self) -> bool:
        """Whether it is heads, rotation, biases and a dense part, with norms before, or side by side as PaLM's."""
        known = self.norm in ("layernorm", "rmsnorm") and not self.after and self.parallel == self.shared_norm
        return known and isinstance(self.attention, Attention) and self.attention.plain and self.dense

    @property
    def dense(self) -> bool:
        """Whether all tokens take one feed-forward part."""
        return isinstance(self.feed_forward, FeedForward)

    @property
    def undivided(self) -> str:
        """The part that tensor parallelism is not known to divide, or nothing."""
        if isinstance(self.attention, LatentAttention):
            return "latent attention"
        if isinstance(self.attention, LinearAttention):
            return "linear attention"
        if self.attention.head_norm == "width":
            return "norm of all queries at once"
        return "set of experts" if isinstance(self.feed_forward, Experts) else ""

    @property
    def divisors(self) -> tuple[tuple[str, Count], ...]:
        """Sizes that a tensor-parallel group divides, with what they are; for a layer with nothing undivided."""
        assert isinstance(self.attention, Attention)
        assert isinstance(self.feed_forward, FeedForward)
        return ("heads", self.attention.heads), ("columns in its MLP", self.feed_forward.width)

    def divided(self, ways: Count) -> Layer:
        """The share of one of `ways` devices that divide every matrix; their number divides all `divisors`."""
        assert isinstance(self.attention, Attention)
        assert isinstance(self.feed_forward, FeedForward)
        return replace(self, attention=self.attention.divided(ways), feed_forward=self.feed_forward.divided(ways))
