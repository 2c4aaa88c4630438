"""What files say of preferences: whether a reference answers beside the model, and who generates GRPO's texts."""

from __future__ import annotations

from collections.abc import Mapping

from ironlaw.files import values
from ironlaw.files.dialect import ALONE, Document, Found
from ironlaw.files.facts import Facts
from ironlaw.files.llama_factory import PAIRS

_PROMPT, _COMPLETION, _VLLM = 512, 256, 0.3
"""Tokens of a prompt and of a completion, and vLLM's share of a card, where TRL is not told (`GRPOConfig`)."""


def generation(document: Document, stage: object) -> Found:
    """Facts of GRPO as TRL runs it: its texts are prompts and completions, which the model generates or vLLM."""
    if stage != "grpo":
        return {}
    inner = document.get("trl")
    said = inner if isinstance(inner, Mapping) else document
    lengths = {key: values.count(key, said.get(key)) for key in ("max_prompt_length", "max_completion_length")}
    found: Found = {"referenced": bool(values.amount("beta", said.get("beta")))}
    if any(lengths.values()):
        found["sequence"] = (lengths["max_prompt_length"] or _PROMPT) + (
            lengths["max_completion_length"] or _COMPLETION
        )
    if not values.switch("use_vllm", said.get("use_vllm")):
        return {**found, "rollout": "generate"}
    if said.get("vllm_mode", "colocate") != "colocate":
        return found
    share = values.amount("vllm_gpu_memory_utilization", said.get("vllm_gpu_memory_utilization")) or _VLLM
    how = "asleep" if values.switch("sleep", said.get("vllm_enable_sleep_mode")) else "beside"
    return {**found, "rollout": f"{how}:{min(max(share, 0.01), 0.99):.2f}"}


def is_alone(document: Document) -> bool:
    """Whether preferences are trained without a reference, or it has answered before the training."""
    answered = any(values.switch(key, document.get(key)) for key in ("precompute_ref_log_probs", "reference_free"))
    pairs = values.named("pref_loss", document.get("pref_loss"), dict(zip(PAIRS, PAIRS, strict=True)))
    named = any(way in ALONE for way in (pairs, document.get("rl"), document.get("loss_type")))
    return answered or named or bool(document.keys() & _WITHOUT_REFERENCE)


_WITHOUT_REFERENCE = {"gamma_beta_ratio", "simpo_gamma", "cpo_alpha", "lambda_orpo"}
"""Keys of SimPO, CPO and ORPO alone."""
_WITH_REFERENCE = {
    "ref_model", "ref_model_name_or_path", "ref_model_init_kwargs", "ref_model_revision", "sync_ref_model",
    "precompute_ref_log_probs", "reference_free", "rpo_alpha", "ld_alpha", "f_divergence_type", "use_weighting", "rl",
    "pref_loss", "force_use_ref_model", "model_adapter_name", "ref_adapter_name",
}  # fmt: skip
"""Keys of which ORPO's and SimPO's files have none."""


def may_be_alone(document: Document, facts: Facts) -> bool:
    """Whether a file is DPO's by keys that those of ORPO and SimPO have too, which train without a reference."""
    return facts.stage == "dpo" and facts.referenced is not False and not document.keys() & _WITH_REFERENCE
