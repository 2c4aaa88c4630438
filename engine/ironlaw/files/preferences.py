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
    said = _of_trl(document)
    lengths = {key: values.count(key, said.get(key)) for key in ("max_prompt_length", "max_completion_length")}
    found: Found = {"referenced": bool(values.amount("beta", said.get("beta")))}
    if any(lengths.values()):
        found["sequence"] = (lengths["max_prompt_length"] or _PROMPT) + (
            lengths["max_completion_length"] or _COMPLETION
        )
    if not values.switch("use_vllm", said.get("use_vllm")):
        return {**found, "rollout": "generate"}
    return {**found, **_beside(said)} if said.get("vllm_mode") == "colocate" else found


def generation_by_default(document: Document, stage: object) -> Found:
    """Facts of GRPO with vLLM where nobody says where it runs: on the training's cards, as in TRL since 2026."""
    said = _of_trl(document)
    return _beside(said) if stage == "grpo" and _is_placeless(said) and not may_be_elsewhere(document) else {}


def may_be_elsewhere(document: Document) -> bool:
    """Whether nobody says where vLLM runs, but at what address."""
    said = _of_trl(document)
    return _is_placeless(said) and any(str(key).startswith("vllm_server") and said[key] for key in said)


def _is_placeless(said: Document) -> bool:
    """Whether vLLM generates and nobody says where."""
    return bool(values.switch("use_vllm", said.get("use_vllm"))) and said.get("vllm_mode") is None


def _of_trl(document: Document) -> Document:
    """Where a file says what it says to TRL: axolotl's in a block."""
    inner = document.get("trl")
    return inner if isinstance(inner, Mapping) else document


def _beside(said: Document) -> Found:
    """What vLLM takes of the training's cards."""
    share = values.amount("vllm_gpu_memory_utilization", said.get("vllm_gpu_memory_utilization")) or _VLLM
    how = "asleep" if values.switch("sleep", said.get("vllm_enable_sleep_mode")) else "beside"
    return {"rollout": f"{how}:{min(max(share, 0.01), 0.99):.2f}"}


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


_LOSSES = frozenset((
    "nll", "dft", "sft", "sigmoid", "hinge", "ipo", "exo_pair", "nca_pair", "robust", "bco_pair", "sppo_hard", "aot",
    "aot_pair", "dpo", "dpo_norm", "wpo",
    "aot_unpaired", "discopop", "apo_zero", "apo_down", "sigmoid_norm", "kto_pair", "kto", "bco", "simpo", "alphapo",
    "grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo",
))  # fmt: skip
"""Losses of TRL's trainers that take as much memory and time as any other of the same trainer."""


def is_of_a_kind(losses: object) -> bool:
    """Whether a file's loss is one of those, or none; it may name several."""
    named = losses if isinstance(losses, list) else str(losses or "").strip("[] ").split(",")
    return all(str(one).strip(" \"'") in ("", *_LOSSES) for one in named)
