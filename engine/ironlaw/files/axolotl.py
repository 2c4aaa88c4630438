"""axolotl's files."""

from __future__ import annotations

from collections import ChainMap

from ironlaw.core.errors import EngineError
from ironlaw.files import values
from ironlaw.files.dialect import (
    ALONE,
    AMOUNT,
    COMMON,
    COUNT,
    SWITCH,
    Dialect,
    Document,
    Found,
    adapter_of,
    attention_of,
    bits_of,
    compute_of,
    format_of,
    optimizer_of,
    reentrant,
    targets_of,
)


def _axolotl(document: Document) -> Found:
    adapter = values.named("adapter", document.get("adapter"), {"lora": "lora", "qlora": "qlora"})
    # Its own default is `bf16: auto`.
    silent = document.get("bf16") is None and not values.switch("fp16", document.get("fp16"))
    found: Found = {} if silent else compute_of(document)
    linear = values.switch("lora_target_linear", document.get("lora_target_linear"))
    targets = ("all-linear",) if linear else targets_of(document.get("lora_target_modules"))
    if adapter:
        found |= adapter_of(ChainMap({"use_dora": document.get("peft_use_dora")}, document), _axolotl_bits(document))  # type: ignore[arg-type]
        found["targets"] = targets
    elif document.get("unfrozen_parameters"):
        found["method"] = "freeze"
    for key, name in (("flash_attention", "flash"), ("sdp_attention", "sdpa"), ("eager_attention", "eager")):
        if values.switch(key, document.get(key)):
            found["attention"] = name
    if document.get("attention") is not None or document.get("attn_implementation") is not None:
        found["attention"] = attention_of(document.get("attention", document.get("attn_implementation")))
    if document.get("rl") not in values.ABSENT:
        names = dict.fromkeys(("dpo", "ipo", *ALONE), "dpo") | {"kto": "kto", "grpo": "grpo"}
        found["stage"] = values.named("rl", str(document["rl"]).lower(), names)
    elif values.switch("reward_model", document.get("reward_model")):
        found["stage"] = "reward"
    recompute = document.get("gradient_checkpointing")
    if isinstance(recompute, str) and recompute not in ("true", "false"):
        # `offload` and `offload_disk` keep the inputs of recomputed blocks elsewhere.
        found["checkpointing"] = True
    found |= reentrant(document)
    fused = ("liger_fused_linear_cross_entropy", "unsloth_cross_entropy_loss")
    found["fused_loss"] = any(values.switch(key, document.get(key)) for key in fused) or cuts(document)
    liger = "liger" in str(document.get("plugins")).lower()
    found["fused_norm"] = (liger and values.switch("liger_rms_norm", document.get("liger_rms_norm"))) or None
    return {**found, **optimizer_of(document, "optimizer")}


def _axolotl_silent(document: Document, named: Found) -> Found:
    auto = ChainMap({"bf16": "auto"}, document) if document.get("bf16") is None else document  # type: ignore[arg-type]
    compute = named.get("compute") or format_of(auto)
    found = {"method": "full", "stage": "sft", "checkpointing": False, "compute": compute, "weights": compute}
    return {**found, "micro_batch": 1, "sequence": 512}


def _axolotl_bits(document: Document) -> tuple[int, ...]:
    """Its QLoRA is over 4 bits: without `load_in_4bit` axolotl asks for it, with `load_in_8bit` it refuses."""
    bits = bits_of(document)
    if document.get("adapter") != "qlora":
        return bits
    if 8 in bits:
        raise EngineError("load_in_8bit", True, (False,), {"adapter": "qlora"})
    return (4,)


def cuts(document: Document) -> bool:
    """Whether cut cross-entropy takes the loss: axolotl's plugin for it does unless told otherwise."""
    said = values.switch("cut_cross_entropy", document.get("cut_cross_entropy"))
    plugins = document.get("plugins")
    brought = isinstance(plugins, list) and any("CutCrossEntropyPlugin" in str(one) for one in plugins)
    return brought if said is None else said


def _recomputes(what: str, value: object) -> bool | None:
    return True if isinstance(value, str) and value.startswith(("offload", "unsloth")) else values.switch(what, value)


AXOLOTL = Dialect(
    "axolotl",
    frozenset({"base_model", "micro_batch_size", "sequence_len", "sample_packing", "lora_target_linear"}),
    {
        "micro_batch": ("micro_batch_size", COUNT),
        "accumulate": COMMON["accumulate"],
        "sequence": ("sequence_len", COUNT),
        "packing": ("sample_packing", SWITCH),
        "checkpointing": ("gradient_checkpointing", _recomputes),
        "epochs": ("num_epochs", AMOUNT),
        "rank": ("lora_r", COUNT),
        "lora_dropout": COMMON["lora_dropout"],
        "devices": ("ray_num_workers", COUNT),
        "fp32_adapters": ("peft_autocast_adapter_dtype", SWITCH),
        "compiled": COMMON["compiled"],
        "tensor": ("tensor_parallel_size", COUNT),
        "context": ("context_parallel_size", COUNT),
        "shard": ("dp_shard_size", COUNT),
        "copies": ("dp_replicate_size", COUNT),
    },
    ("base_model",),
    _axolotl,
    _axolotl_silent,
)
