"""LLaMA-Factory's files."""

from __future__ import annotations

from ironlaw.core.errors import EngineError
from ironlaw.files import values
from ironlaw.files.dialect import (
    ALONE,
    COMMON,
    COUNT,
    Dialect,
    Document,
    Found,
    adapter_of,
    attention_of,
    compute_of,
    optimizer_of,
    targets_of,
)

BY_MEGATRON = (
    "tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size", "context_parallel_size",
)  # fmt: skip
"""LLaMA-Factory's keys for Megatron-LM."""
PAIRS = ("sigmoid", "hinge", "ipo", "kto_pair", *ALONE)
"""LLaMA-Factory's ways to train by pairs."""


def _llama_factory(document: Document) -> Found:
    method, stage = document.get("finetuning_type", "lora"), document.get("stage", "sft")
    if method not in ("full", "freeze", "lora", "oft"):
        raise EngineError("finetuning_type", method, ("full", "freeze", "lora", "oft"))
    found: Found = compute_of(document)
    if values.switch("pure_bf16", document.get("pure_bf16")):
        found |= {"compute": "bf16", "weights": "bf16"}
    if "finetuning_type" in document:
        found["method"] = method if method != "oft" else "lora"
    elif document.get("adapter_name_or_path"):
        found["method"] = "lora"  # one that is trained on
    kept, asked = _checkpointing_of_llama_factory(document)
    found["checkpointing"] = True if asked else None if kept is None else not kept
    found["stage"] = {"pt": "pretrain", "rm": "reward"}.get(str(stage), stage)
    if found["stage"] not in ("pretrain", "sft", "dpo", "kto", "reward", "ppo"):
        raise EngineError("stage", stage, ("pt", "sft", "rm", "ppo", "dpo", "kto"))
    bits, targets = values.count("quantization_bit", document.get("quantization_bit")), document.get("lora_target")
    if method in ("lora", "oft"):
        adapter = adapter_of(document, (bits,) if bits else ())
        if "method" not in found and adapter["method"] == "lora":
            del adapter["method"]  # by default
        found |= adapter
        found["targets"] = targets_of("all" if targets is None else targets)
    found["attention"] = attention_of(document.get("flash_attn", "auto"))
    found["fused_loss"] = bool(values.switch("enable_liger_kernel", document.get("enable_liger_kernel")))
    own = {"optimizer": "muon", "update": None} if values.switch("use_muon", document.get("use_muon")) else {}
    return {**found, **optimizer_of(document, "optim"), **own}


def _llama_factory_silent(document: Document, named: Found) -> Found:
    compute, method = named.get("compute", "fp32"), named.get("method", "lora")
    # Trained weights are cast to FP32 unless the file asks for pure BF16.
    weights = "fp32" if method in ("full", "freeze") else compute
    found = {"method": method, "checkpointing": True, "compute": compute, "weights": weights}
    return {**found, "micro_batch": 8, "sequence": 2048, "rank": 8}


def _checkpointing_of_llama_factory(document: Document) -> tuple[bool | None, bool | None]:
    """LLaMA-Factory's own switch, without which it recomputes, and its Trainer's, which can only switch it on too."""
    disabled, asked = (
        values.switch(key, document.get(key)) for key in ("disable_gradient_checkpointing", "gradient_checkpointing")
    )
    return disabled, asked


def idle(document: Document) -> tuple[str, ...]:
    """A sentence on a switch of recomputation that does nothing in LLaMA-Factory beside the other one."""
    disabled, asked = _checkpointing_of_llama_factory(document)
    if disabled and asked:
        return ("disable_gradient_checkpointing: true counts for nothing beside gradient_checkpointing: true.",)
    if asked is False and not disabled:
        told = "LLaMA-Factory recomputes unless disable_gradient_checkpointing is true"
        return (f"gradient_checkpointing: false counts for nothing: {told}.",)
    return ()


LLAMA_FACTORY = Dialect(
    "LLaMA-Factory",
    frozenset({"finetuning_type", "cutoff_len", "lora_target", "stage", "template"}),
    {
        **{fact: COMMON[fact] for fact in ("micro_batch", "accumulate", "packing", "epochs", "compiled")},
        "sequence": ("cutoff_len", COUNT),
        "rank": ("lora_rank", COUNT),
        "lora_dropout": COMMON["lora_dropout"],
        "devices": ("ray_num_workers", COUNT),
    },
    ("model_name_or_path",),
    _llama_factory,
    _llama_factory_silent,
)
