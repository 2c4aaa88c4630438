"""Commands of Megatron-LM, whose options have names of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ironlaw.files import values
from ironlaw.files.facts import Facts

_NAMES = {
    "tensor_model_parallel_size": "tensor", "pipeline_model_parallel_size": "pipeline",
    "context_parallel_size": "context", "expert_model_parallel_size": "expert", "micro_batch_size": "micro_batch",
    "global_batch_size": "global_batch", "seq_length": "sequence", "train_iters": "steps",
}  # fmt: skip

IGNORED = re.compile(
    r"(kv_channels|max_position_embeddings|position_embedding_type|normalization|"
    r"group_query_attention|swiglu|squared_relu|qk_layernorm|\w*bias_linear|add_qkv_bias|"
    r"untie_embeddings_and_output_weights|vocab_size|make_vocab_size_divisible_by|use_rotary_position_embeddings|"
    r"rotary_\w+|norm_epsilon|layernorm_epsilon|init_method_\w+|moe_(router|grouped|token|aux|z_loss)_\w+|"
    r"moe_ffn_hidden_size|moe_grouped_gemm)|"
    r"use_mcore_models|use_legacy_models|overlap_\w+|tp_comm_\w+|"
    r"mock_data|split|lr\w*|min_lr\w*|clip_grad|train_samples|exit_\w+|distributed_\w+|ckpt_\w+|load|timing_\w+|"
    r"manual_gc\w*|attention_softmax_in_fp32|use_cpu_initialization|initial_loss_scale|loss_scale\w*|"
    r"rampup_batch_size|async_\w+|use_dist_ckpt|dist_ckpt_\w+|tensorboard_\w+|seed|enable_one_logger|"
    r"(start|end)_weight_decay|weight_decay_incr_style|auto_detect_ckpt_format|reset_(position_ids|attention_mask)|"
    r"eod_mask_loss|override_opt_param_scheduler|finetune|profile\w*|use_checkpoint_args|tiktoken_pattern|"
    r"high_priority_stream_groups"
)
"""Megatron-LM's options that say the model's sizes, and those that change neither memory nor time."""


def facts_of(given: Mapping[str, Any]) -> Facts:
    """What the options of Megatron-LM say. Raises `EngineError` for a value that it would refuse."""
    found: dict[str, Any] = {
        fact: values.count(name.replace("_", "-"), given.get(name)) for name, fact in _NAMES.items()
    }
    found["compute"] = next((form for form in ("bf16", "fp16") if form in given), "fp32")
    found["method"], found["stage"] = "full", "pretrain"
    if "use_distributed_optimizer" in given:
        found["zero"] = 1
    recompute = given.get("recompute_granularity", "selective" if "recompute_activations" in given else None)
    found["checkpointing"] = None if recompute is None else recompute == "full" and not recomputes_partly(given)
    found["selective"] = True if recompute == "selective" else None
    found["framework"] = "megatron"
    ends = ("account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split")
    given_too = [name in given for name in ends]
    found["balanced"] = True if all(given_too) else None
    found["sequence_parallel"] = True if "sequence_parallel" in given else None
    local = given.get("transformer_impl") == "local" and "use_flash_attn" not in given
    found["attention"] = "eager" if given.get("attention_backend", "local" if local else "") in _UNFUSED else None
    hidden, inside = (
        values.rate(name.replace("_", "-"), given.get(name, "0.1")) or 0.0
        for name in ("hidden_dropout", "attention_dropout")
    )
    # Fused attention keeps no mask of its scores.
    found["dropout"] = max(hidden, inside) if found["attention"] else hidden
    sizes = ((name, values.count(name.replace("_", "-"), given.get(name))) for name in _SIZES)
    found["shape"] = tuple((name, size) for name, size in sizes if size) or None
    found["optimizer"] = values.named("optimizer", given.get("optimizer", "adam"), _OPTIMIZERS)
    if found["optimizer"] == "momentum" and not values.amount("sgd-momentum", given.get("sgd_momentum", "0.9")):
        found["optimizer"] = "sgd"
    return Facts(**found)


_UNFUSED = ("unfused", "local")
_OPTIMIZERS = {"adam": "adamw", "sgd": "momentum", "muon": "muon", "dist_muon": "muon"}
_SIZES = ("num_layers", "hidden_size", "ffn_hidden_size", "num_attention_heads", "num_query_groups", "num_experts")
"""Options that say a model's sizes, which are held against the model that is counted."""


def recomputes_partly(given: Mapping[str, Any]) -> bool:
    """Whether Megatron-LM recomputes some layers of a stage alone, or several as one, which no plan counts."""
    if given.get("recompute_granularity") != "full":
        return False
    layers = values.count("recompute-num-layers", given.get("recompute_num_layers"))
    if given.get("recompute_method", "uniform") == "uniform":
        return (layers or 1) > 1
    whole = values.count("num-layers", given.get("num_layers"))
    stages = values.count("pipeline-model-parallel-size", given.get("pipeline_model_parallel_size")) or 1
    return layers is None or whole is None or layers < whole // stages
