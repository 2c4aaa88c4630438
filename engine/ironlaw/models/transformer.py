"""Transformers by shape or by name: exact parameter tensors and their count.

Letters: L layers, h hidden size, a heads, g key/value heads, d head size, f feed-forward size, V vocabulary,
T longest sequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from math import prod
from typing import Any, Literal, get_args

from ironlaw.core.errors import EngineError, settle_fields
from ironlaw.core.records import Source, read_record, record_names, take_sources
from ironlaw.core.units import Count
from ironlaw.models.layers import Attention, Dropouts, Experts, FeedForward, LatentAttention, Layer, LinearAttention

Position = Literal["learned", "rope", "alibi", "none"]
Norm = Literal["layernorm", "rmsnorm"]
Mlp = Literal["gelu", "relu", "swiglu"]
Code = Literal["", "flat", "transformers"]
Role = Literal["embedding", "matrix", "bias", "norm"]

_CHOICES = {"position": get_args(Position), "norm": get_args(Norm), "mlp": get_args(Mlp), "code": get_args(Code)}
_COUNTS = dict.fromkeys(("layers", "hidden", "heads", "vocab", "max_seq"), 1) | dict.fromkeys(
    ("kv_heads", "head_size", "ffn", "position_offset", "frequencies"), 0
)
"""Fields that are whole numbers, and the lowest each can be; 0 stands for what follows from the others."""
_SWITCHES = ("tied", "bias", "qkv_bias", "parallel", "embedding_norm", "scaled_embedding", "logit_softcap")

Runs = tuple[tuple[Layer, Count], ...]
"""Layers in order: each kind with how often it comes in a row."""
MOST_RUNS = 256
"""More than any published model has: what is computed grows with the runs, not with the layers."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter tensor that occurs `count` times; in its name `*` stands for the layer's number.

    Attributes:
        name: Dotted name, e.g. `"blocks.*.attn.c_attn.weight"`.
        shape: Dimensions, PyTorch's order (rows are outputs).
        role: What it is: looked up, multiplied, added, or part of a normalization.
        count: How often it occurs: once, or once a layer.
        layers: The numbers of the layers in which it occurs, where these are some of the blocks.
    """

    name: str
    shape: tuple[int, ...]
    role: Role
    count: Count = 1
    layers: tuple[int, ...] = ()

    @property
    def elements(self) -> Count:
        """Elements of one occurrence."""
        return prod(self.shape)


@dataclass(frozen=True)
class Transformer:
    """A decoder-only transformer described by its shape, or by a list of its layers (`of_layers`).

    Attributes:
        name: For messages and tables.
        layers: Number of blocks, L.
        hidden: Width of the residual stream, h.
        heads: Query heads, a.
        vocab: Rows of the token embedding, V.
        max_seq: Longest sequence, T; rows of a learned position embedding.
        kv_heads: Key/value heads, g; 0 means as many as query heads.
        head_size: d; 0 means h / a.
        ffn: Width inside the MLP, f; 0 means 4 h.
        position: `learned` adds a table of positions, `rope` rotates queries and keys, `alibi` biases scores.
        norm: `layernorm` (weight, and bias if `bias`) or `rmsnorm` (weight only).
        mlp: `gelu` and `relu` have two matrices, `swiglu` three.
        tied: Whether the output head shares the token embedding.
        bias: Whether linear layers and layer norms have biases.
        qkv_bias: Whether the query, key and value projections have biases although `bias` is False (Qwen2).
        parallel: Whether attention and MLP read one norm side by side, so that a block has one norm (PaLM).
        embedding_norm: Whether a norm follows the token embedding (BLOOM).
        position_offset: Extra rows of a learned position embedding that are never positions (OPT has two).
        runs: Layers of other kinds than these fields can say, in order; empty where the fields say all. Then `heads`,
            `kv_heads`, `head_size` and `ffn` are those of its first layer that has them.
        scaled_embedding: Whether embeddings are multiplied with a constant (Gemma).
        logit_softcap: Whether a tanh bounds the logits (Gemma 2).
        frequencies: Pairs of rotary tables that layers of equal sizes need: two where some have other frequencies.
        code: Whose model file: `flat` is the usual flat GPT-2, `transformers` Hugging Face's; by default the first for
            `gelu` and `relu`, the second for `swiglu`.
        dropouts: Where its model file drops elements, as a configuration says; None where nobody says.
        sources: Where the figures come from; empty for a shape given by hand.
    """

    name: str
    layers: Count
    hidden: Count
    heads: Count
    vocab: Count
    max_seq: Count
    kv_heads: Count = 0
    head_size: Count = 0
    ffn: Count = 0
    position: Position = "learned"
    norm: Norm = "layernorm"
    mlp: Mlp = "gelu"
    tied: bool = True
    bias: bool = True
    qkv_bias: bool = False
    parallel: bool = False
    embedding_norm: bool = False
    position_offset: Count = 0
    runs: Runs = ()
    scaled_embedding: bool = False
    logit_softcap: bool = False
    frequencies: Count = 1
    code: Code = ""
    dropouts: Dropouts | None = None
    sources: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise EngineError("name", self.name, "a text")
        settle_fields(self, _COUNTS, _CHOICES, _SWITCHES)
        for field, default in (("kv_heads", self.heads), ("head_size", self._even_head()), ("ffn", 4 * self.hidden)):
            if getattr(self, field) == 0:
                object.__setattr__(self, field, default)
        if self.heads % self.kv_heads:
            raise EngineError("kv_heads", self.kv_heads, f"a divisor of {self.heads}", {"heads": self.heads})
        if self.runs and sum(count for _, count in self.runs) != self.layers:
            counted = sum(count for _, count in self.runs)
            raise EngineError("layers", self.layers, f"{counted}, as many as there are in runs")
        if not self.code:
            object.__setattr__(self, "code", "transformers" if self.mlp == "swiglu" else "flat")
        if not (self.dropouts is None or (isinstance(self.dropouts, Dropouts) and self.code == "transformers")):
            raise EngineError("dropouts", self.dropouts, "absent, or Dropouts", {"code": self.code})

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # Models are keys of every cache; the generated hash would walk all fields each time.
        return hash(
            (
                (self.name, self.layers, self.hidden, self.heads, self.kv_heads, self.ffn, self.vocab, self.max_seq),
                self.runs,
            )
        )

    def _even_head(self) -> int:
        if self.head_size == 0 and self.hidden % self.heads:
            raise EngineError("heads", self.heads, f"a divisor of {self.hidden}", {"hidden": self.hidden})
        return self.hidden // self.heads

    @property
    def query_width(self) -> Count:
        """Width of all query heads side by side, a d."""
        return self.heads * self.head_size

    @cached_property
    def stack(self) -> Runs:
        """The layers in order: `runs`, or one run of the layer that the other fields describe."""
        return self.runs or ((self._layer(), self.layers),)

    @cached_property
    def kinds(self) -> Runs:
        """Each kind of layer once, with how often it occurs; first come first."""
        counts: dict[Layer, Count] = {}
        for layer, count in self.stack:
            counts[layer] = counts.get(layer, 0) + count
        return tuple(counts.items())

    @cached_property
    def undivided(self) -> str:
        """The part that tensor parallelism is not known to divide, or nothing."""
        return next((layer.undivided for layer, _ in self.kinds if layer.undivided), "")

    @cached_property
    def score_width(self) -> Count:
        """Widths of what all layers' scores multiply, summed: L h of the rule `12 L h T`.

        Half of a query's and half of a value's, which are alike but in latent attention; nothing in linear attention.
        """
        widths = [
            count * (layer.attention.query_width + layer.attention.heads * layer.attention.value_size)
            for layer, count in self.stack
            if not isinstance(layer.attention, LinearAttention)
        ]
        return sum(widths) // 2

    @cached_property
    def idle_parameters(self) -> Count:
        """Parameters of the experts that a token does not go to."""
        idle = 0
        for layer, count in self.stack:
            part = layer.feed_forward
            if isinstance(part, Experts):
                elements = sum(p.elements for p in _experts(self.hidden, part))
                idle += count * (elements // part.count) * (part.count - part.chosen)
        return idle

    def _layer(self) -> Layer:
        """The layer that the fields describe."""
        gated = self.mlp == "swiglu"
        return Layer(
            Attention(
                self.heads,
                self.kv_heads,
                self.head_size,
                self.head_size if self.position == "rope" else 0,
                bias=self.bias or self.qkv_bias,
                out_bias=self.bias,
                merged=not gated,
            ),
            FeedForward(self.ffn, "silu" if self.mlp == "swiglu" else self.mlp, gated, self.bias),
            norm=self.norm,
            parallel=self.parallel,
            shared_norm=self.parallel,
            bias=self.bias,
        )

    @property
    def position_rows(self) -> Count:
        """Rows of a learned position embedding."""
        return self.max_seq + self.position_offset

    @cached_property
    def parameter_tensors(self) -> tuple[Parameter, ...]:
        """Every parameter tensor once, with how often it occurs. A tied output head is not listed."""
        return tuple(_parameters(self))

    @cached_property
    def parameters(self) -> Count:
        """Number of parameters. A tied output head counts once."""
        return sum(p.elements * p.count for p in self.parameter_tensors)


def of_layers(
    name: str, layers: Iterable[Layer], hidden: Count, vocab: Count, max_seq: Count, **others: Any
) -> Transformer:
    """A transformer as a list of layers.

    Args:
        name: For messages and tables.
        layers: Its layers in order.
        hidden: Width of the residual stream, h.
        vocab: Rows of the token embedding, V.
        max_seq: Longest sequence, T.
        others: Other fields of `Transformer`: `tied`, `position`, `norm`, `bias` of the final norm, ...

    Raises:
        EngineError: No layer, too many runs of like layers, or a size below one.
    """
    runs = tuple((kind, sum(1 for _ in same)) for kind, same in groupby(layers))
    if not runs:
        raise EngineError("layers", (), "at least one layer")
    if len(runs) > MOST_RUNS:
        raise EngineError("runs of like layers", len(runs), f"at most {MOST_RUNS}")
    seen = [kind.attention for kind, _ in runs if not isinstance(kind.attention, LinearAttention)]
    part = runs[0][0].feed_forward
    sizes: dict[str, Any] = {"heads": 1, "head_size": 1}
    if seen:
        sizes = {"heads": seen[0].heads, "kv_heads": seen[0].kv_heads, "head_size": seen[0].head_size}
    width = part.chosen * part.width + part.shared if isinstance(part, Experts) else part.width
    rest: dict[str, Any] = {"code": "transformers", "norm": "rmsnorm", "bias": False} | others
    return Transformer(
        name=name,
        layers=sum(count for _, count in runs),
        hidden=hidden,
        vocab=vocab,
        max_seq=max_seq,
        ffn=width,
        runs=runs,
        **sizes,
        **rest,
    )


def _parameters(m: Transformer) -> Iterator[Parameter]:
    yield Parameter("wte.weight", (m.vocab, m.hidden), "embedding")
    if m.position == "learned":
        yield Parameter("wpe.weight", (m.position_rows, m.hidden), "embedding")
    biased = m.bias and m.norm == "layernorm"
    if m.embedding_norm:
        yield from _norm("ln_0", m.hidden, biased)
    order = [layer for layer, count in m.stack for _ in range(count)] if len(m.kinds) > 1 else []
    for layer, count in m.kinds:
        numbers = tuple(number for number, one in enumerate(order) if one == layer)
        for p in layer_parameters(m.hidden, layer):
            yield Parameter(f"blocks.*.{p.name}", p.shape, p.role, count, numbers)
    yield from _norm("ln_f", m.hidden, biased)
    if not m.tied:
        yield Parameter("lm_head.weight", (m.vocab, m.hidden), "matrix")


def layer_parameters(hidden: Count, layer: Layer) -> Iterator[Parameter]:
    """The parameter tensors of one layer of a model of that width, in the order of the forward pass."""
    biased = layer.bias and layer.norm == "layernorm"
    if layer.before:
        yield from _norm("ln_1", hidden, biased)
    if isinstance(layer.attention, Attention):
        yield from _attention(hidden, layer.attention)
    elif isinstance(layer.attention, LatentAttention):
        yield from _latent(hidden, layer.attention)
    else:
        yield from _linear_attention(hidden, layer.attention)
    if layer.after:
        yield from _norm("ln_1_after", hidden, biased)
    if layer.before and not (layer.parallel and layer.shared_norm):
        yield from _norm("ln_2", hidden, biased)
    part = layer.feed_forward
    yield from _dense("mlp", hidden, part) if isinstance(part, FeedForward) else _experts(hidden, part)
    if isinstance(part, Experts):
        yield from _linear("mlp.router", hidden, part.count, part.bias)
        if part.shared:
            yield from _dense("mlp.shared", hidden, part.shared_part)
            if part.shared_gate:
                yield from _linear("mlp.shared_gate", hidden, 1, bias=False)
    if layer.after:
        yield from _norm("ln_2_after", hidden, biased)


def _linear(name: str, inputs: Count, outputs: Count, bias: bool) -> Iterator[Parameter]:
    yield Parameter(f"{name}.weight", (outputs, inputs), "matrix")
    if bias:
        yield Parameter(f"{name}.bias", (outputs,), "bias")


def _norm(name: str, width: Count, bias: bool = False) -> Iterator[Parameter]:
    yield Parameter(f"{name}.weight", (width,), "norm")
    if bias:
        yield Parameter(f"{name}.bias", (width,), "norm")


def _attention(hidden: Count, a: Attention) -> Iterator[Parameter]:
    queries = a.query_width * (2 if a.gated else 1)
    if a.merged:
        yield from _linear("attn.c_attn", hidden, queries + 2 * a.kv_width, a.bias)
        yield from _linear("attn.c_proj", a.query_width, hidden, a.out_bias)
    else:
        yield from _linear("attn.q_proj", hidden, queries, a.bias)
        yield from _linear("attn.k_proj", hidden, a.kv_width, a.bias)
        yield from _linear("attn.v_proj", hidden, a.kv_width, a.bias)
        yield from _linear("attn.o_proj", a.query_width, hidden, a.out_bias)
    if a.head_norm != "none":
        yield from _norm("attn.q_norm", a.head_size if a.head_norm == "head" else a.query_width)
        yield from _norm("attn.k_norm", a.head_size if a.head_norm == "head" else a.kv_width)
    if a.sinks:
        yield Parameter("attn.sinks", (a.heads,), "bias")


def _latent(hidden: Count, a: LatentAttention) -> Iterator[Parameter]:
    if a.query_rank:
        yield from _linear("attn.q_a_proj", hidden, a.query_rank, a.bias)
        yield from _norm("attn.q_a_norm", a.query_rank)
        yield from _linear("attn.q_b_proj", a.query_rank, a.query_width, bias=False)
    else:
        yield from _linear("attn.q_proj", hidden, a.query_width, bias=False)
    yield from _linear("attn.kv_a_proj", hidden, a.rank + a.rotated, a.bias)
    yield from _norm("attn.kv_a_norm", a.rank)
    yield from _linear("attn.kv_b_proj", a.rank, a.heads * (a.plain_size + a.value_size), bias=False)
    yield from _linear("attn.o_proj", a.heads * a.value_size, hidden, a.bias)


def _linear_attention(hidden: Count, a: LinearAttention) -> Iterator[Parameter]:
    if a.separate:
        yield from _linear("attn.qkv_proj", hidden, a.convolved, bias=False)
        yield from _linear("attn.z_proj", hidden, a.value_width, bias=False)
        yield from _linear("attn.b_proj", hidden, a.value_heads, bias=False)
        yield from _linear("attn.a_proj", hidden, a.value_heads, bias=False)
    else:
        yield from _linear("attn.qkvz_proj", hidden, a.convolved + a.value_width, bias=False)
        yield from _linear("attn.ba_proj", hidden, 2 * a.value_heads, bias=False)
    yield Parameter("attn.conv.weight", (a.convolved, 1, a.kernel), "bias")
    yield Parameter("attn.dt_bias", (a.value_heads,), "bias")
    yield Parameter("attn.a_log", (a.value_heads,), "bias")
    yield from _norm("attn.norm", a.value_size)
    yield from _linear("attn.o_proj", a.value_width, hidden, bias=False)


def _dense(name: str, hidden: Count, part: FeedForward) -> Iterator[Parameter]:
    if not part.gated:
        yield from _linear(f"{name}.c_fc", hidden, part.width, part.bias)
        yield from _linear(f"{name}.c_proj", part.width, hidden, part.bias)
        return
    if part.merged:
        yield from _linear(f"{name}.gate_up_proj", hidden, 2 * part.width, part.bias)
    else:
        yield from _linear(f"{name}.gate_proj", hidden, part.width, part.bias)
        yield from _linear(f"{name}.up_proj", hidden, part.width, part.bias)
    yield from _linear(f"{name}.down_proj", part.width, hidden, part.bias)


def _experts(hidden: Count, part: Experts) -> Iterator[Parameter]:
    yield Parameter("mlp.experts.gate_up_proj", (part.held, 2 * part.width, hidden), "matrix")
    yield Parameter("mlp.experts.down_proj", (part.held, hidden, part.width), "matrix")
    if part.bias:
        yield Parameter("mlp.experts.gate_up_proj_bias", (part.held, 2 * part.width), "bias")
        yield Parameter("mlp.experts.down_proj_bias", (part.held, hidden), "bias")


@cache
def model(name: str) -> Transformer:
    """The transformer called `name`, e.g. `model("gpt2-xl")`, or as its hub has it, `model("Qwen/Qwen3-8B")`.

    Raises:
        EngineError: An unknown name.
    """
    if "/" in name:
        from ironlaw.models.config_json import published_model

        return published_model(name)
    record = read_record("models", name)
    return Transformer(name=name, sources=take_sources(record, f"models/{name}"), **record)


def list_models() -> tuple[str, ...]:
    """Names of all models that `model` knows."""
    return record_names("models")
