"""Values as configuration files write them: numbers, switches, names of models and optimizers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TypeVar

from ironlaw.core.errors import EngineError, whole_number
from ironlaw.models.transformer import list_models

Named = TypeVar("Named")
ABSENT = (None, "", "auto", "none", "null")
"""What says nothing: the program decides."""

_TAIL = re.compile(r"[-_](instruct|base|hf|chat|it|bnb|4bit|fp16|bf16|v\d(\.\d)?|\d{4})(?=[-_]|$)")
_VARIANT = re.compile(_TAIL.pattern.replace(r"|v\d(\.\d)?", ""))
"""The same without versions, which count where a model of each is known."""

_HUB = re.compile(
    r"(?P<host>(https?://)?(www\.)?(huggingface\.co|hf\.co)/)?(?P<name>[A-Za-z0-9][\w.-]{0,95}(/[\w.-]{1,96})?)"
    r"(?(host)(/(tree|blob|resolve|raw)/\S*|/)?([?#]\S*)?)"
)
LONGEST_ADDRESS = 400
"""Characters of a model's address."""

OPTIMIZERS: Mapping[str, tuple[str, str | None]] = {
    "adamw_torch": ("adamw", None),
    "adamw_torch_fused": ("adamw", "fused"),
    "adamw_hf": ("adamw", None),
    "adamw": ("adamw", None),
    "adam": ("adam", None),
    "adamw_8bit": ("adamw-8bit", None),
    "adamw_torch_8bit": ("adamw-8bit", None),
    "adamw_bnb_8bit": ("adamw-8bit", None),
    "paged_adamw_8bit": ("paged-adamw-8bit", None),
    "paged_adamw_32bit": ("paged-adamw", None),
    "paged_adamw": ("paged-adamw", None),
    "muon": ("muon", None),
    "lion_32bit": ("lion", None),
    "adafactor": ("adafactor", None),
    "galore_adamw": ("galore", None),
    "rmsprop": ("rmsprop", None),
    "sgd": ("sgd", None),
}
"""Names that `transformers` and axolotl give optimizers: the engine's, and how its step runs where the name says it."""


_MODULES = frozenset((
    "attn", "self_attn", "attention", "linear_attn", "mlp", "block_sparse_moe", "experts", "shared", "shared_expert",
    "shared_experts", "q_proj", "k_proj", "v_proj", "o_proj", "out_proj", "q_a_proj", "q_b_proj", "kv_a_proj",
    "kv_a_proj_with_mqa", "kv_b_proj", "qkv_proj", "query_key_value", "Wqkv", "wq", "wk", "wv", "wo", "z_proj",
    "a_proj", "b_proj", "qkvz_proj", "ba_proj", "in_proj", "in_proj_qkvz", "in_proj_ba", "c_attn", "c_proj", "c_fc",
    "dense", "dense_h_to_4h", "dense_4h_to_h", "gate_proj", "up_proj", "down_proj", "gate_up_proj", "fc1", "fc2", "w1",
    "w2", "w3", "gate", "router", "shared_gate", "shared_expert_gate", "wte", "wpe", "embed_tokens", "embed_in",
    "embed_out", "lm_head", "model", "transformer", "layers", "blocks", "h", "query", "key", "value",
))  # fmt: skip


def is_module(name: str) -> bool:
    """Whether all parts of a dotted name are those of a model's modules, or before the last numbers of layers."""
    *outer, last = name.split(".")
    return last in _MODULES and all(part in _MODULES or re.fullmatch("[0-9]{1,3}", part, re.ASCII) for part in outer)


def switch(what: str, value: object) -> bool | None:
    """A switch; None where the program decides. Raises `EngineError` for anything else."""
    if value is True or value is False:
        return value
    if value in ABSENT:
        return None
    if isinstance(value, str) and value.lower() in ("true", "yes", "1", "on"):
        return True
    if isinstance(value, str) and value.lower() in ("false", "no", "0", "off"):
        return False
    raise EngineError(what, value, ("true", "false"))


def count(what: str, value: object, lowest: int = 1) -> int | None:
    """A whole number, also as text; None where the program decides. Raises `EngineError` for anything else."""
    if value in ABSENT:
        return None
    if isinstance(value, str) and re.fullmatch(r"\d{1,10}", value.strip()):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return whole_number(what, value, lowest)


def amount(what: str, value: object) -> float | None:
    """A number of at least zero, also as text; None where the program decides. Raises `EngineError` otherwise."""
    if value in ABSENT:
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    if isinstance(value, bool) or not 0 <= number < 1e12:
        raise EngineError(what, value, "a number of at least 0")
    return number


def rate(what: str, value: object) -> float | None:
    """A rate of dropout; None where the program decides. Raises `EngineError` for none from 0 up to 1."""
    if (number := amount(what, value)) is not None and number >= 1:
        raise EngineError(what, value, "a number from 0, below 1")
    return number


def named(what: str, value: object, names: Mapping[str, Named], allowed: tuple[str, ...] = ()) -> Named | None:
    """What a name stands for; None where the program decides.

    Raises:
        EngineError: It is none of the names; the message gives those of `allowed`, or all.
    """
    if value in ABSENT:
        return None
    if not isinstance(value, str) or value not in names:
        raise EngineError(what, value, allowed or tuple(names))
    return names[value]


def optimizer(what: str, value: object) -> tuple[str, str | None] | None:
    """The optimizer that a name of `transformers` stands for. Raises `EngineError` for one that is not known."""
    if value in ABSENT:
        return None
    name = str(getattr(value, "value", value)).lower()
    if name not in OPTIMIZERS:
        raise EngineError(what, value, tuple(OPTIMIZERS))
    return OPTIMIZERS[name]


@cache
def _models() -> dict[str, str]:
    from ironlaw.models.config_json import published

    known = (*published(), *list_models())
    return {_plain(name, tail): name for tail in (_TAIL, _VARIANT) for name in known}


def _plain(name: str, tail: re.Pattern[str] = _TAIL) -> str:
    """A model's name without its publisher, its variant and its separators."""
    name = name.rstrip("/").rsplit("/", 1)[-1].lower()
    before = ""
    while before != name:
        before, name = name, tail.sub("", name)
    return re.sub(r"[^a-z0-9.]", "", name.removeprefix("meta-"))


def hub_name(text: str) -> str | None:
    """The model that a text is the name of, or its address on the hub; None for any other text.

    A word without a publisher is a name only where the engine knows it.
    """
    found = _HUB.fullmatch(text.strip()) if len(text) <= LONGEST_ADDRESS else None
    if found is None or not (found["host"] or "/" in found["name"] or model(found["name"])):
        return None
    return found["name"]


def model(value: object) -> str | None:
    """The engine's name of a published model, e.g. `"llama3.1-8b"` for `NousResearch/Meta-Llama-3.1-8B`; else None."""
    if not isinstance(value, str):
        return None
    return _models().get(_plain(value, _VARIANT)) or _models().get(_plain(value))
