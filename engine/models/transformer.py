"""Transformers by shape or by name: exact parameter tensors and their count.

Letters: L layers, h hidden size, a heads, g key/value heads, d head size, f feed-forward size, V vocabulary,
T longest sequence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from typing import Literal, get_args

from engine.core.errors import EngineError, settle_fields, show
from engine.core.records import Source, read_record, record_names, take_sources
from engine.core.units import Count

Position = Literal["learned", "rope", "alibi", "none"]
Norm = Literal["layernorm", "rmsnorm"]
Mlp = Literal["gelu", "relu", "swiglu"]
Role = Literal["embedding", "matrix", "bias", "norm"]

_CHOICES = {"position": get_args(Position), "norm": get_args(Norm), "mlp": get_args(Mlp)}
_COUNTS = dict.fromkeys(("layers", "hidden", "heads", "vocab", "max_seq"), 1) | dict.fromkeys(
    ("kv_heads", "head_size", "ffn", "position_offset"), 0
)
"""Fields that are whole numbers, and the lowest each can be; 0 stands for what follows from the others."""
_SWITCHES = ("tied", "bias", "qkv_bias", "parallel", "embedding_norm")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter tensor that occurs `count` times; in its name `*` stands for the layer's number.

    Attributes:
        name: Dotted name, e.g. `"blocks.*.attn.c_attn.weight"`.
        shape: Dimensions, PyTorch's order (rows are outputs).
        role: What it is: looked up, multiplied, added, or part of a normalization.
        count: How often it occurs: once, or once a layer.
    """

    name: str
    shape: tuple[int, ...]
    role: Role
    count: Count = 1

    @property
    def elements(self) -> Count:
        """Elements of one occurrence."""
        return prod(self.shape)


@dataclass(frozen=True)
class Transformer:
    """A decoder-only transformer described by its shape.

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
    sources: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise EngineError(f"name {show(self.name)} is not allowed; it must be a text")
        settle_fields(self, _COUNTS, _CHOICES, _SWITCHES)
        for field, default in (("kv_heads", self.heads), ("head_size", self._even_head()), ("ffn", 4 * self.hidden)):
            if getattr(self, field) == 0:
                object.__setattr__(self, field, default)
        if self.heads % self.kv_heads:
            raise EngineError(f"kv_heads {self.kv_heads} is not allowed; it must divide heads {self.heads}")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # Models are keys of every cache; the generated hash would walk all fields each time.
        return hash(
            (self.name, self.layers, self.hidden, self.heads, self.kv_heads, self.ffn, self.vocab, self.max_seq)
        )

    def _even_head(self) -> int:
        if self.head_size == 0 and self.hidden % self.heads:
            raise EngineError(f"heads {self.heads} is not allowed; it must divide hidden {self.hidden}")
        return self.hidden // self.heads

    @property
    def query_width(self) -> Count:
        """Width of all query heads side by side, a d."""
        return self.heads * self.head_size

    @property
    def kv_width(self) -> Count:
        """Width of all key heads side by side, g d."""
        return self.kv_heads * self.head_size

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


def _parameters(m: Transformer) -> Iterator[Parameter]:
    def linear(name: str, inputs: int, outputs: int, bias: bool = m.bias) -> Iterator[Parameter]:
        yield Parameter(f"blocks.*.{name}.weight", (outputs, inputs), "matrix", m.layers)
        if bias:
            yield Parameter(f"blocks.*.{name}.bias", (outputs,), "bias", m.layers)

    def norm(name: str, count: int) -> Iterator[Parameter]:
        yield Parameter(f"{name}.weight", (m.hidden,), "norm", count)
        if m.bias and m.norm == "layernorm":
            yield Parameter(f"{name}.bias", (m.hidden,), "norm", count)

    yield Parameter("wte.weight", (m.vocab, m.hidden), "embedding")
    if m.position == "learned":
        yield Parameter("wpe.weight", (m.position_rows, m.hidden), "embedding")
    if m.embedding_norm:
        yield from norm("ln_0", 1)
    yield from norm("blocks.*.ln_1", m.layers)
    if m.mlp == "swiglu":
        yield from linear("attn.q_proj", m.hidden, m.query_width, m.bias or m.qkv_bias)
        yield from linear("attn.k_proj", m.hidden, m.kv_width, m.bias or m.qkv_bias)
        yield from linear("attn.v_proj", m.hidden, m.kv_width, m.bias or m.qkv_bias)
        yield from linear("attn.o_proj", m.query_width, m.hidden)
    else:
        yield from linear("attn.c_attn", m.hidden, m.query_width + 2 * m.kv_width, m.bias or m.qkv_bias)
        yield from linear("attn.c_proj", m.query_width, m.hidden)
    if not m.parallel:
        yield from norm("blocks.*.ln_2", m.layers)
    if m.mlp == "swiglu":
        yield from linear("mlp.gate_proj", m.hidden, m.ffn)
        yield from linear("mlp.up_proj", m.hidden, m.ffn)
        yield from linear("mlp.down_proj", m.ffn, m.hidden)
    else:
        yield from linear("mlp.c_fc", m.hidden, m.ffn)
        yield from linear("mlp.c_proj", m.ffn, m.hidden)
    yield from norm("ln_f", 1)
    if not m.tied:
        yield Parameter("lm_head.weight", (m.vocab, m.hidden), "matrix")


@cache
def model(name: str) -> Transformer:
    """The transformer called `name`, e.g. `model("gpt2-xl")`. Raises `EngineError` for an unknown name."""
    record = read_record("models", name)
    return Transformer(name=name, sources=take_sources(record, f"models/{name}"), **record)


def list_models() -> tuple[str, ...]:
    """Names of all models that `model` knows."""
    return record_names("models")
