"""What files of trainers have in common: how one program writes the facts, and readers of keys that several share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ironlaw.core.errors import EngineError
from ironlaw.files import values
from ironlaw.files.cluster_files import block
from ironlaw.files.facts import Attention, Format, Kind

Document = Mapping[str, Any]
Found = dict[str, Any]
Convert = Callable[[str, object], object]
SWITCH, COUNT, AMOUNT = values.switch, values.count, values.amount
COMMON: dict[str, tuple[str, Convert]] = {
    "accumulate": ("gradient_accumulation_steps", COUNT),
    "checkpointing": ("gradient_checkpointing", SWITCH),
    "packing": ("packing", SWITCH),
    "epochs": ("num_train_epochs", AMOUNT),
    "rank": ("lora_r", COUNT),
    "lora_dropout": ("lora_dropout", values.rate),
    "compiled": ("torch_compile", SWITCH),
    "fused_loss": ("use_liger_kernel", SWITCH),
    "micro_batch": ("per_device_train_batch_size", COUNT),
}
"""Fact -> the key that `transformers` gives it, and how its value is read."""
ALONE = ("orpo", "simpo")
"""Ways to train by pairs without a reference."""


@dataclass(frozen=True)
class Dialect:
    """How one program writes the facts.

    Attributes:
        kind: The program.
        marks: Keys that only its files have.
        keys: Fact -> its key and how its value is read, where it is one plain value.
        models: The keys of the model's name, of which the first counts.
        rest: The facts that follow from several keys.
        silent: What the program does by default, of a document and the facts that it says; those that it says are
            passed over.
        others: Fact -> other keys for it, of which the first counts that has a value.
    """

    kind: Kind
    marks: frozenset[str]
    keys: Mapping[str, tuple[str, Convert]]
    models: tuple[str, ...]
    rest: Callable[[Document], Found]
    silent: Callable[[Document, Found], Found]
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def key_of(document: Document, key: str, others: tuple[str, ...]) -> str:
    """The first of the keys that has a value in a document; `key` where none has."""
    return next((one for one in (key, *others) if document.get(one) not in values.ABSENT), key)


def bits_of(document: Document) -> tuple[int, ...]:
    """The bits of quantized weights that switches ask for."""
    asked = {4: "load_in_4bit", 8: "load_in_8bit"}
    return tuple(bits for bits, key in asked.items() if values.switch(key, document.get(key)))


def adapter_of(document: Document, bits: tuple[int, ...]) -> dict[str, Any]:
    """Facts of an adapter over weights of `bits` bits, if any are quantized."""
    plain = "dora" if values.switch("use_dora", document.get("use_dora")) else "lora"
    found: dict[str, Any] = {"method": "qlora" if 4 in bits else plain}
    if 8 in bits:
        found["weights"] = "int8"
    double = document.get("double_quantization", document.get("bnb_4bit_use_double_quant"))
    if 4 in bits and double is not None:
        found["double_quantization"] = values.switch("double_quantization", double)
    return found


def targets_of(value: object) -> tuple[str, ...] | None:
    """Names of modules that models are known to have, so that nothing else travels on."""
    if value in values.ABSENT:
        return None
    if value in ("all", "all-linear", ["all-linear"]):
        return ("all-linear",)
    names = value.strip("[]").split(",") if isinstance(value, str) else value
    plain = [str(one).strip(" \"'") for one in names] if isinstance(names, (list, tuple)) else []
    plain = [one for one in plain if one]  # TRL's documents have a comma behind each
    if not plain or not all(map(values.is_module, plain)):
        raise EngineError("targets of LoRA", value, "names of modules, such as q_proj, or all-linear")
    return tuple(plain)


def compute_of(document: Document) -> Found:
    """The format of products, where `bf16` or `fp16` says something."""
    said = any(document.get(key) == "auto" or document.get(key) not in values.ABSENT for key in ("bf16", "fp16"))
    return {"compute": format_of(document)} if said else {}


def format_of(document: Document) -> Format:
    """The format of products that `bf16` and `fp16` choose."""
    long, short = (values.switch(key, document.get(key)) for key in ("bf16", "fp16"))
    if short or long:
        return "fp16" if short else "bf16"
    if "auto" not in (document.get("bf16"), document.get("fp16")):
        return "fp32"
    return "auto" if short is None else "auto-fp32"


def optimizer_of(document: Document, key: str) -> dict[str, Any]:
    """Facts of the optimizer that a key names."""
    found = values.optimizer(key, document.get(key))
    if found is None:
        return {}
    return {"optimizer": found[0], "update": found[1]}


def attention_of(value: object) -> Attention | None:
    """The attention that a value names."""
    names: dict[str, Attention] = {
        "eager": "eager", "disabled": "eager", "sdpa": "sdpa", "flash": "flash", "fa2": "flash", "fa3": "flash",
        "flash_attention_2": "flash", "flash_attention_3": "flash", "kernels-community/flash-attn": "flash",
        "kernels-community/flash-attn2": "flash", "kernels-community/flash-attn3": "flash",
        "kernels-community/vllm-flash-attn3": "flash", "flex_attention": "sdpa", "xformers": "sdpa",
    }  # fmt: skip
    return values.named("attention", value, names, tuple(name for name in names if "/" not in name))


def json_or_text(text: str) -> object:
    """What a text says as JSON; the text itself where it says nothing."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def reentrant(document: Document) -> Found:
    """Which recomputation PyTorch runs, where the options of `gradient_checkpointing_kwargs` say it."""
    said = document.get("gradient_checkpointing_kwargs")
    own = document.get("use_reentrant")
    if isinstance(said, str) and said.lstrip().startswith("{"):
        document = {"gradient_checkpointing_kwargs": json_or_text(said)}  # a command gives it as JSON
    asked = block(document, "gradient_checkpointing_kwargs").get("use_reentrant", own)
    return {"reentrant": values.switch("use_reentrant", asked)}
