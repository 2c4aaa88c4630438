"""What is trained, from words: all, all but frozen parts, or adapters, in 4 bits or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.config.resolved import Setup
from ironlaw.core.errors import EngineError, Instead, require_name, whole_number
from ironlaw.graph.adaptation import ALL_LINEAR, Adaptation, Format, Quantization, by_layer, require_adaptable
from ironlaw.numerics.dtypes import TF32
from ironlaw.numerics.precision import Precision, list_precisions
from ironlaw.numerics.precision import precision as precision_by_name

METHODS = ("full", "lora", "qlora")
SHARDED = ("mixed", "mixed-bf16")
"""FSDP's mixed precision: FP32 shards, gathered in 16 bits."""
OF_ADAPTERS = ("lora_rank", "lora_targets", "lora_dropout", "dora", "adapter_format", "base_format")
OF_QUANTIZATION = ("double_quantization", "quantization_block")
RANK = 16
"""The rank of adapters for which none is given."""


def adaptation(
    method: str | Adaptation, precision: Precision, given: Mapping[str, Any], *, divided: bool = False
) -> Adaptation:
    """What is trained.

    Args:
        method: Its name; an `Adaptation` passes through.
        precision: The precision, on which some formats depend.
        given: The other words of `ironlaw.config.setup.setup` that were given.
        divided: Whether replicas divide the weights.

    Raises:
        EngineError: An unknown name, a value out of range, or words of adapters without adapters.
    """
    if isinstance(method, Adaptation):
        _only((), given, method.method)
        return method
    require_name("method", method, METHODS)
    if method == "full":
        _only(("frozen",), given, method)
        return Adaptation(frozen=_patterns("frozen", given["frozen"]) if given else ())
    quantized = method == "qlora"
    _only(OF_ADAPTERS + OF_QUANTIZATION * quantized, given, method)
    if "dora" in given and "lora_dropout" in given:
        dropout, because = given["lora_dropout"], "which then multiplies by the matrix twice"
        raise EngineError("lora_dropout", dropout, (0,), {"dora": True}, because)
    return Adaptation(
        method=method,  # type: ignore[arg-type]  # checked above
        rank=whole_number("lora_rank", given.get("lora_rank", RANK)),
        targets=_patterns("lora_targets", given.get("lora_targets", ALL_LINEAR)),
        dropout=given.get("lora_dropout", 0.0),
        magnitudes=given.get("dora", False),
        adapters=given.get("adapter_format", "fp32"),
        base=given.get("base_format", base_format(precision, quantized=quantized, divided=divided)),
        quantization=_quantization(given) if quantized else None,
    )


def base_format(precision: Precision, *, quantized: bool, divided: bool) -> Format:
    """The format of what is frozen and not quantized, where nobody says.

    peft's `prepare_model_for_kbit_training` makes it FP32 beside 4 bits. Programs leave that out where FSDP or ZeRO-3
    divides the weights: what is flattened together has one format (`bnb_4bit_quant_storage`).

    Sources: bitsandbytes' guide to FSDP-QLoRA; TRL (`is_sharded_qlora`), axolotl
    (`skip_prepare_model_for_kbit_training`).
    """
    return "fp32" if quantized and precision.autocast and not divided else "16-bit"


def _quantization(given: Mapping[str, Any]) -> Quantization:
    block, nested = given.get("quantization_block", 64), given.get("double_quantization", True)
    return Quantization(whole_number("quantization_block", block), nested)


def _only(allowed: tuple[str, ...], given: Mapping[str, Any], method: str) -> None:
    for word, value in given.items():
        if word not in allowed:
            others = tuple(name for name in METHODS if name != method and (name == "full") == (word == "frozen"))
            if word in OF_QUANTIZATION:
                others = ("qlora",)
            ways = tuple(Instead("method", name) for name in others)
            raise EngineError(word, value, ways, {"method": method})


def _patterns(word: str, text: Any) -> tuple[str, ...]:
    words = text.split(",") if isinstance(text, str) else ()
    if not (parts := tuple(dict.fromkeys(part for part in map(str.strip, words) if part))):
        raise EngineError(word, text, "a text: patterns with commas between")
    return parts


def require_adapted(c: Setup) -> None:
    """Refuse what cannot be combined with parts of a model, or adapters, being trained.

    Raises:
        EngineError: The first such choice.
    """
    require_adaptable(c.model, c.adaptation)
    partly: dict[str, object] = {"frozen": ",".join(c.adaptation.frozen)}
    if c.adaptation.has_adapters:
        partly = {"method": c.adaptation.method}
    for what, value in (("tensor", c.layout.tensor), ("interleave", c.layout.interleave)):
        if value > 1:
            raise EngineError(what, value, (1,), partly)
    _, layers = by_layer(c.model, c.adaptation)
    trained = [layer for layer, one in enumerate(layers) if one.parameters or one.adapted]
    if not all(set(stage.layers).intersection(trained) for stage in c.stages if c.layout.pipeline > 1):
        because = "with which a stage has no block to train"
        raise EngineError("pipeline", c.layout.pipeline, (1,), partly, because)
    for choice, chosen, allowed in (
        ("framework", c.framework.name, "torch"),
        ("execution", c.framework.execution, "eager"),
        ("runtime", c.framework.runtime, "none"),
    ):
        if chosen != allowed:
            raise EngineError(choice, chosen, (allowed,), partly)
    precision = c.precision
    shards = precision.name in SHARDED and c.fully_sharded and not c.adaptation.quantization
    if c.adaptation.has_adapters and not (_plain(precision) or shards):
        allowed_too = tuple(name for name in list_precisions() if _plain(precision_by_name(name)))
        raise EngineError("precision", precision.name, allowed_too, partly)


def _plain(precision: Precision) -> bool:
    """Whether a precision says nothing of how trained weights are kept that adapters do not say themselves."""
    return precision.master is None and precision.rounded in (None, TF32)
