"""What of a model is trained: all of it, all but frozen parts, or low-rank adapters beside frozen weights.

LoRA (arXiv 2106.09685) adds `B A` to a frozen matrix, A of r rows and B of r columns; DoRA (arXiv 2402.09353) also
trains the length of every row of the sum. QLoRA (arXiv 2305.14314) keeps the frozen matrices of the blocks in 4 bits.
Formats are those of Hugging Face peft and bitsandbytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Literal, get_args

from ironlaw.core.arrays import probability
from ironlaw.core.errors import EngineError, Instead, require_bool, require_name, settle_fields
from ironlaw.core.units import Count, Ratio
from ironlaw.models.layers import Experts
from ironlaw.models.transformer import Parameter, Transformer
from ironlaw.numerics.dtypes import FP32, UINT8, DType
from ironlaw.numerics.precision import Precision

Method = Literal["full", "lora", "qlora"]
Format = Literal["fp32", "16-bit"]
Routed = Literal["none", "folded", "apart"]
"""What `"all-linear"` does with experts: there are none; peft adapts them and their router by adding to their weights,
and leaves dense and shared parts out; or it leaves them and their router out (gpt-oss).

Source: peft 0.21, `utils/transformers_weight_conversion.py` and `tuners/lora/layer.py` (`ParamWrapper`).
"""
ALL_LINEAR = "all-linear"
"""Every matrix of the blocks, which leaves out the embeddings and the head (peft's word)."""
BLOCK_SIZES = (32, 64, 128, 256, 512, 1024, 2048, 4096)
"""Weights that may share a scale (bitsandbytes, `quantize_4bit`)."""
NESTED_BLOCK = 256
"""Scales that share a scale of their own under double quantization (QLoRA, section 3)."""
CODES = 16
"""Values of a 4-bit format; bitsandbytes keeps a table of them beside each matrix."""
NESTED_CODES = 256
"""Values of the 8-bit format of quantized scales; bitsandbytes copies the table for each matrix."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """NF4: 4 bits a weight, and a scale for every block of weights.

    Attributes:
        block: Weights that share a scale.
        nested: Whether the scales are quantized to 8 bits too (double quantization).
    """

    block: Count = 64
    nested: bool = True

    def __post_init__(self) -> None:
        require_bool("double_quantization", self.nested)
        if self.block not in BLOCK_SIZES:
            raise EngineError("quantization_block", self.block, BLOCK_SIZES)

    def tensors(self, weights: Count) -> Iterator[tuple[str, Count, DType]]:
        """Suffix, elements and format of each tensor that stands for a matrix of so many weights."""
        scales = -(-weights // self.block)
        yield "", -(-weights // 2), UINT8
        yield ".code", CODES, FP32
        yield ".absmax", scales, UINT8 if self.nested else FP32
        if self.nested:
            yield ".nested_absmax", -(-scales // NESTED_BLOCK), FP32
            yield ".nested_code", NESTED_CODES, FP32
            yield ".offset", 1, FP32


@dataclass(frozen=True, slots=True)
class Adaptation:
    """What is trained, and in which formats the rest is kept. The default trains everything.

    Attributes:
        method: `"full"` trains the model's own parameters, `"lora"` adapters beside them, `"qlora"` adapters beside
            matrices of 4 bits.
        rank: Rows of A and columns of B, r; 0 without adapters.
        targets: Which matrices have adapters: `"all-linear"`, or patterns of their names (see `matches`).
        dropout: Probability of dropout before A.
        magnitudes: Whether the length of every row is trained too (DoRA).
        adapters: Format of adapters, their gradients and states; peft casts them to FP32 unless told otherwise.
        base: Format of what is frozen and not quantized. peft's `prepare_model_for_kbit_training` makes it FP32, which
            programs leave out where weights are divided (`ironlaw.config.adaptations.base_format`).
        frozen: Patterns of the model's own parameters that are not trained; all of them with adapters.
        quantization: How the blocks' matrices are quantized, or None.
    """

    method: Method = "full"
    rank: Count = 0
    targets: tuple[str, ...] = ()
    dropout: Ratio = 0.0
    magnitudes: bool = False
    adapters: Format = "fp32"
    base: Format = "16-bit"
    frozen: tuple[str, ...] = ()
    quantization: Quantization | None = None

    def __post_init__(self) -> None:
        settle_fields(self, {"rank": 0}, {"method": get_args(Method)}, ("magnitudes",))
        for what, value in (("adapter_format", self.adapters), ("base_format", self.base)):
            require_name(what, value, get_args(Format))
        probability("lora_dropout", self.dropout)

    @property
    def everything(self) -> bool:
        """Whether every parameter is trained."""
        return self.method == "full" and not self.frozen

    @property
    def has_adapters(self) -> bool:
        """Whether adapters are trained, and none of the model's own parameters."""
        return self.method != "full"

    def around(self, precision: Precision) -> Precision:
        """The formats of the model itself: what is frozen has its own format, and neither gradients nor states."""
        if not self.has_adapters:
            return precision
        whole = self.base == "fp32" and precision.master is None  # with a master copy only shards are FP32
        return replace(precision, weights=FP32 if whole else precision.compute)

    def trained_format(self, precision: Precision) -> DType:
        """The format of adapters at work and of their gradients."""
        return FP32 if self.adapters == "fp32" and precision.master is None else precision.compute

    def trains(self, name: str) -> bool:
        """Whether a parameter of the model itself is trained. The name has its layer's number."""
        return not self.has_adapters and not any(matches(name, pattern) for pattern in self.frozen)

    def adapts(self, p: Parameter, name: str, routed: Routed) -> bool:
        """Whether a parameter has an adapter beside it. The name has its layer's number."""
        return self.has_adapters and any(targeted(p, name, pattern, routed) for pattern in self.targets)

    def quantizes(self, p: Parameter) -> bool:
        """Whether a parameter is kept in 4 bits: the blocks' linear layers, which experts and routers are not."""
        matrix = p.role == "matrix" and len(p.shape) == 2 and p.name.startswith("blocks.")
        return self.quantization is not None and matrix and not _is_router(p)


FULL = Adaptation()
"""Everything is trained."""


def routing(model: Transformer) -> Routed:
    """What peft does with the experts of a model under `"all-linear"`."""
    routers = {layer.feed_forward.router for layer, _ in model.kinds if isinstance(layer.feed_forward, Experts)}
    if not routers:
        return "none"
    return "apart" if "chosen-softmax" in routers else "folded"


def targeted(p: Parameter, name: str, pattern: str, routed: Routed) -> bool:
    """Whether a pattern of adapters means a parameter. The name has its layer's number."""
    if p.role != "matrix" or not p.name.startswith("blocks."):
        return False
    if routed == "none" or not p.name.startswith("blocks.*.mlp."):
        return pattern == ALL_LINEAR or matches(name.removesuffix(".weight"), pattern)
    kinds = ("mlp.router", "mlp.experts", "mlp.shared_gate")
    return routed == "folded" and pattern == ALL_LINEAR and p.name.startswith(kinds, len("blocks.*."))


def _is_router(p: Parameter) -> bool:
    return p.name == "blocks.*.mlp.router.weight"


_WILDCARDS = frozenset("*?[")


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern, in which `*` stands for any text, is some neighboring parts of a dotted name.

    `q_proj` and `attn` match `blocks.0.attn.q_proj`, `blocks.0` everything in the first block.
    """
    if not _WILDCARDS.intersection(pattern):
        return f".{pattern}." in f".{name}."
    from fnmatch import fnmatchcase  # only where patterns are, so that all else starts sooner

    names = (name, *(name[i + 1 :] for i, letter in enumerate(name) if letter == "."))
    return any(fnmatchcase(one, wanted) for one in names for wanted in (pattern, f"{pattern}.*"))


@dataclass(frozen=True, slots=True)
class Held:
    """A parameter tensor as it is kept: one of the model's own, or of an adapter."""

    parameter: Parameter
    trained: bool = True
    quantized: bool = False
    adapter: bool = False


def held(parameters: Iterable[Parameter], adaptation: Adaptation, routed: Routed) -> tuple[Held, ...]:
    """The parameters of a model as they are kept, adapters after the matrices that they adapt.

    Args:
        parameters: With a `*` for the number of their layer where they occur once a layer.
        adaptation: What is trained.
        routed: What `routing` says of the model.
    """
    return tuple(_held(parameters, adaptation, routed))


def _held(parameters: Iterable[Parameter], adaptation: Adaptation, routed: Routed) -> Iterator[Held]:
    for p in parameters:
        if adaptation.everything:
            yield Held(p)
            continue
        names = layer_names(p)
        trained = sum(adaptation.trains(name) for name in names)
        for count, flag in ((trained, True), (len(names) - trained, False)):
            if count:
                yield Held(replace(p, count=count), flag, adaptation.quantizes(p))
        adapted = sum(adaptation.adapts(p, name, routed) for name in names)
        if adapted:
            for one in adapter_parameters(p, adaptation):
                yield Held(replace(one, count=adapted), adapter=True)


def layer_names(p: Parameter) -> tuple[str, ...]:
    """The names of all occurrences of a parameter tensor."""
    if "*" not in p.name:
        return (p.name,) * p.count
    return tuple(p.name.replace("*", str(layer)) for layer in p.layers or range(p.count))


def adapter_parameters(p: Parameter, adaptation: Adaptation) -> Iterator[Parameter]:
    """The tensors of the adapter of one matrix, or of all experts' at once."""
    module, (outputs, inputs) = p.name.removesuffix(".weight"), p.shape[-2:]
    rows = prod(p.shape[:-2]) * expert_rank(p.name, adaptation)
    yield Parameter(f"{module}.lora_A.weight", (rows, inputs), "matrix")
    yield Parameter(f"{module}.lora_B.weight", (outputs, rows), "matrix")
    if adaptation.magnitudes:
        yield Parameter(f"{module}.magnitude", (outputs,), "norm")


def expert_rank(name: str, adaptation: Adaptation) -> Count:
    """The rank of a matrix's adapter: where gate and input matrix of experts are one, peft doubles it."""
    return adaptation.rank * (2 if name.endswith("experts.gate_up_proj") else 1)


@dataclass(frozen=True, slots=True)
class Training:
    """What is trained in one section: of its own parameters, by name without the block's prefix, and beside them.

    Attributes:
        adaptation: Of which this is the part.
        parameters: Elements of each parameter that is trained.
        adapted: Modules with an adapter.
        quantized: Modules in 4 bits.
        transposed: Whether matrices are kept transposed, as transformers' GPT-2 does (`Conv1D`).
        input_gradient: Whether the section's input has a gradient.
    """

    adaptation: Adaptation
    parameters: tuple[tuple[str, Count], ...] = ()
    adapted: frozenset[str] = frozenset()
    quantized: frozenset[str] = frozenset()
    transposed: bool = False
    input_gradient: bool = True


@lru_cache(maxsize=256)
def by_layer(model: Transformer, adaptation: Adaptation) -> tuple[Training, tuple[Training, ...]]:
    """What is trained outside the blocks, and in each of them; inputs are taken to have gradients."""
    outside: dict[str, Count] = {}
    layers: list[dict[str, Count]] = [{} for _ in range(model.layers)]
    adapted: list[set[str]] = [set() for _ in range(model.layers)]
    quantized: set[str] = set()
    routed = routing(model)
    transposed = model.code == "transformers" and model.position == "learned"
    for p in model.parameter_tensors:
        short = p.name.removeprefix("blocks.*.")
        if adaptation.quantizes(p):
            quantized.add(short.removesuffix(".weight"))
        for layer, name in zip(p.layers or range(p.count), layer_names(p), strict=True):
            inside = short != p.name
            if adaptation.trains(name):
                (layers[layer] if inside else outside)[short] = p.elements
            if adaptation.adapts(p, name, routed):
                adapted[layer if inside else 0].add(short.removesuffix(".weight"))
    if "wte.weight" in outside and model.tied:
        outside["lm_head.weight"] = outside["wte.weight"]
    return Training(adaptation, tuple(outside.items())), tuple(
        Training(adaptation, tuple(own.items()), frozenset(beside), frozenset(quantized), transposed)
        for own, beside in zip(layers, adapted, strict=True)
    )


@lru_cache(maxsize=256)
def require_adaptable(model: Transformer, adaptation: Adaptation) -> None:
    """Refuse patterns that match nothing, or that leave nothing to train.

    Raises:
        EngineError: The first such pattern.
    """
    names = [(p, name) for p in model.parameter_tensors for name in layer_names(p)]
    if adaptation.has_adapters:
        routed, who = routing(model), {"model": model.name}
        blocks = [p for p in model.parameter_tensors if p.name.startswith("blocks.")]
        matrices = [p for p in blocks if p.role == "matrix" and len(p.shape) == 2 and not _is_router(p)]
        plain = [p for p in matrices if routed == "none" or not p.name.startswith("blocks.*.mlp.")]
        allowed = (ALL_LINEAR, *dict.fromkeys(p.name.removesuffix(".weight").rpartition(".")[2] for p in plain))
        for pattern in adaptation.targets:
            # peft renames the parts of experts, and leaves dense parts beside them out: only all of them are counted.
            apart = pattern != ALL_LINEAR and any(
                matches(name.removesuffix(".weight"), pattern)
                for p, name in names
                if routed != "none" and p.role == "matrix" and p.name.startswith("blocks.*.mlp.")
            )
            if apart or not any(targeted(p, name, pattern, routed) for p, name in names):
                raise EngineError("lora_targets", pattern, allowed, who)
        if routed == "folded" and ALL_LINEAR in adaptation.targets:
            because = "whose experts peft adapts within their weights"
            if adaptation.magnitudes:
                raise EngineError("dora", True, (False,), who, because)
            if adaptation.dropout:
                raise EngineError("lora_dropout", adaptation.dropout, (0,), who, because)
        least = min(min(p.shape) for p in matrices)
        if adaptation.rank > least:
            raise EngineError("lora_rank", adaptation.rank, f"at most {least}", {"model": model.name})
        return
    for pattern in adaptation.frozen:
        if not any(matches(name, pattern) for _, name in names):
            example = names[0][1]
            raise EngineError("frozen", pattern, f"a pattern of parameters, such as {example}", {"model": model.name})
    if adaptation.frozen and not any(adaptation.trains(name) for _, name in names):
        way_out = Instead("method", "lora")
        raise EngineError("frozen", ",".join(adaptation.frozen), ("less than everything", way_out))
