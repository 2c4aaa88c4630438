"""Files and options of `transformers`' Trainer, of TRL's trainers, and of scripts around them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Set

from ironlaw.files import values
from ironlaw.files.dialect import (
    COMMON,
    COUNT,
    Dialect,
    Document,
    Found,
    adapter_of,
    attention_of,
    bits_of,
    compute_of,
    key_of,
    optimizer_of,
    reentrant,
    targets_of,
)
from ironlaw.files.facts import FORMATS, Format, Stage

_LENGTHS = ("max_length", "max_seq_length", "max_seq_len", "block_size", "model_max_length", "cutoff_len")
_OTHERS = {"micro_batch": ("per_gpu_train_batch_size", "micro_batch_size"), "rank": ("lora_rank",)}
_MODELS = ("model_name_or_path", "model_name", "model_id", "base_model", "pretrained_model_name_or_path")
"""What scripts around a Trainer call the same."""
_FOUR_BITS = ("q_lora", "use_qlora", "qlora", "use_4bit_quantization")
_ADAPTERS = ("use_peft", "use_lora", "lora_enable", "use_peft_lora")
"""Switches by which such scripts train adapters, over four bits or over the model as it is."""
_TWO_LENGTHS = ("source_max_len", "target_max_len")
"""Of a question and of its answer, as QLoRA's script cuts them."""
_SHORT: Mapping[str, Format] = {"bf16": "bf16", "fp16": "fp16", "half": "fp16", "fp32": "fp32", "float": "fp32"}
"""Names of formats that scripts take beside PyTorch's."""
OF_GRPO = frozenset(("num_generations", "max_completion_length"))
"""Keys by which a file is GRPO's where nothing else says what it is."""
_STAGES: Mapping[Stage, Set[str]] = {
    "grpo": OF_GRPO,
    "kto": {"desirable_weight", "undesirable_weight"},
    "dpo": {"beta", "max_prompt_length", "precompute_ref_log_probs", "reference_free"},
}
"""Keys that only TRL's trainers of preferences have, the most telling first: KTO and GRPO have `beta` too."""
OF_OWN_LOOPS = {"with_tracking", "use_lora", "use_qlora", "use_slow_tokenizer"}
"""Options of scripts around accelerate with a loop of their own, as open-instruct's."""


def _of_a_script(document: Document) -> Found:
    """What the options of `transformers`' Trainer, of TRL and of scripts around them say."""
    key = key_of(document, "dtype", ("torch_dtype",))
    kept = values.named(key, document.get(key), {**FORMATS, **_SHORT}, tuple(FORMATS))
    found: Found = {**compute_of(document), "weights": kept}
    targets = targets_of(document.get("lora_target_modules"))
    adapted = _adapted(document)
    if adapted is False:
        found["method"] = "full"
    elif adapted:
        short = any(values.switch(key, document.get(key)) for key in _FOUR_BITS)
        asked = values.count("bits", document.get("bits"))
        bits = (*bits_of(document), *((4,) if short else ()), *((asked,) if asked else ()))
        # TRL's own key for double quantization, which it leaves out where its file is silent, and QLoRA's script's.
        twice = ("use_bnb_nested_quant", "use_nested_quant", "double_quant")
        nested = next((document[key] for key in twice if key in document), False)
        found |= adapter_of(ChainMap(document, {"double_quantization": nested}), bits)  # type: ignore[arg-type]
        found["targets"] = targets
    found["attention"] = attention_of(document.get("attn_implementation"))
    if any(values.switch(key, document.get(key)) for key in ("use_flash_attn", "use_flash_attention_2")):
        found["attention"] = "flash"
    if lengths := [values.count(key, document.get(key)) for key in _TWO_LENGTHS if document.get(key)]:
        found["sequence"] = sum(filter(None, lengths))
    # Other trainers have the one key beside the length of a whole example, which GRPO's has not.
    keys = document.keys() - ({"max_completion_length"} if "max_length" in document else set())
    found["stage"] = next((stage for stage, marks in _STAGES.items() if marks & keys), None)
    return {**found, **reentrant(document), **optimizer_of(document, "optim")}


def _adapted(document: Document) -> bool | None:
    """Whether the options of a Trainer's script ask for adapters; None where they do not say."""
    asked = [values.switch(key, document.get(key)) for key in (*_FOUR_BITS, *_ADAPTERS)]
    if any(asked) or bits_of(document):
        return True
    ranked = any(document.get(key) not in values.ABSENT for key in ("lora_r", "lora_rank"))
    # Whoever switches four bits off has said nothing of adapters, which a rank asks for.
    return False if False in (asked[len(_FOUR_BITS) :] if ranked else asked) else ranked or None


def _trl_silent(document: Document, named: Found) -> Found:
    found = {"method": "full", "compute": "bf16", "weights": "fp32", "stage": "sft"}
    # Scripts with a loop of their own recompute nothing by default (open-instruct, `finetune.py`).
    recomputes = not document.keys() & OF_OWN_LOOPS
    return {**found, "checkpointing": recomputes, "micro_batch": 8, "sequence": 1024, "rank": 16, "lora_dropout": 0.05}


def _trainer_silent(document: Document, named: Found) -> Found:
    return {"method": "full", "compute": "fp32", "checkpointing": False, "micro_batch": 8}


TRAINER = Dialect(
    "Trainer",
    frozenset({"block_size", "model_max_length"}),
    {**COMMON, "sequence": ("block_size", COUNT)},
    _MODELS,
    _of_a_script,
    _trainer_silent,
    {**_OTHERS, "sequence": _LENGTHS},
)
TRL = Dialect(
    "TRL",
    frozenset({"per_device_train_batch_size", "max_length", "max_seq_length", "dataset_name", "use_peft"}),
    {**COMMON, "sequence": ("max_length", COUNT)},
    _MODELS,
    _of_a_script,
    _trl_silent,
    {**_OTHERS, "sequence": _LENGTHS},
)
