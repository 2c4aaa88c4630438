"""Random configurations of each family: the parameters of transformers' network on the meta device, or a refusal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ironlaw import EngineError
from ironlaw.models import from_config
from ironlaw.models.families import FAMILIES
from tests.conftest import tries
from tests.engine.models.test_from_config import of_transformers

Keys = dict[str, st.SearchStrategy[Any]]
MOST_LAYERS = 5
SWITCH, SOME = st.booleans(), st.integers(1, 6)
RATE = st.sampled_from([0.0, 0.1])
WINDOW = st.sampled_from([None, 4, 4096])
HEAD: Keys = {"head_dim": st.sampled_from([8, 16])}
BIASED: Keys = {"attention_bias": SWITCH}
SLIDING: Keys = {
    "use_sliding_window": SWITCH,
    "sliding_window": WINDOW,
    "max_window_layers": st.integers(0, MOST_LAYERS),
}
DROPPED: Keys = {"attention_dropout": RATE}
ROUTED: Keys = {"output_router_logits": SWITCH}
NORMED = ROUTED | {"norm_topk_prob": SWITCH}
SPARSE: Keys = {
    "num_experts": st.integers(2, 5), "moe_intermediate_size": SOME, "decoder_sparse_step": st.integers(1, 3),
    "mlp_only_layers": st.lists(st.integers(0, MOST_LAYERS - 1), max_size=2),
}  # fmt: skip
CAPPED: Keys = {
    "attn_logit_softcapping": st.sampled_from([None, 50.0]), "final_logit_softcapping": st.sampled_from([None, 30.0]),
    "query_pre_attn_scalar": st.just(8), "use_bidirectional_attention": st.sampled_from([False, False, True]),
}  # fmt: skip
LATENT: Keys = {
    "kv_lora_rank": SOME, "q_lora_rank": st.sampled_from([None, 4]), "qk_nope_head_dim": st.sampled_from([4, 8]),
    "qk_rope_head_dim": st.sampled_from([2, 4]), "v_head_dim": SOME, "moe_intermediate_size": SOME,
    "n_routed_experts": st.sampled_from([4, 8]), "n_shared_experts": st.integers(1, 2), "mlp_bias": SWITCH,
    "first_k_dense_replace": st.integers(0, 3), "n_group": st.just(2), "topk_group": st.just(1),
}  # fmt: skip
ROTATED = st.sampled_from([0.25, 0.5, 1.0]).map(
    lambda share: {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": share}
)
SWITCHES: dict[str, Keys] = {
    "llama": HEAD | BIASED | {"mlp_bias": SWITCH},
    "mistral": HEAD | {"sliding_window": WINDOW},
    "smollm3": BIASED | {"mlp_bias": SWITCH, "no_rope_layer_interval": st.integers(1, 3)},
    "qwen2": SLIDING,
    "qwen3": HEAD | BIASED | SLIDING,
    "phi3": {"sliding_window": WINDOW, "rope_parameters": ROTATED, "resid_pdrop": RATE, "embd_pdrop": RATE},
    "qwen3_moe": HEAD | BIASED | NORMED | SPARSE | {"use_sliding_window": SWITCH, "sliding_window": WINDOW},
    "mixtral": HEAD | ROUTED | {"num_local_experts": st.integers(2, 5), "router_jitter_noise": RATE},
    "gpt_oss": HEAD | BIASED | ROUTED | {"num_local_experts": st.integers(2, 5)},
    "gemma2": HEAD | BIASED | CAPPED,
    "gemma3_text": HEAD | BIASED | CAPPED,
    "deepseek_v2": BIASED | LATENT | NORMED,
    "deepseek_v3": BIASED | LATENT | NORMED,
    "qwen3_next": HEAD | BIASED | NORMED | SPARSE | {
        "full_attention_interval": st.integers(1, 4), "shared_expert_intermediate_size": SOME,
        "linear_key_head_dim": SOME, "linear_value_head_dim": SOME, "linear_conv_kernel_dim": st.integers(2, 4),
    },
    "gpt_neox": BIASED | {"use_parallel_residual": SWITCH, "rope_parameters": ROTATED, "hidden_dropout": RATE},
    "falcon": {
        "multi_query": SWITCH, "new_decoder_architecture": SWITCH, "parallel_attn": SWITCH, "alibi": SWITCH,
        "bias": SWITCH, "num_kv_heads": st.sampled_from([None, 1, 2]), "ffn_hidden_size": SOME,
        "num_ln_in_parallel_attn": st.sampled_from([None, 1, 2]), "hidden_dropout": RATE,
    },
    "gpt2": {
        "n_inner": st.sampled_from([None, 3, 24]), "scale_attn_by_inverse_layer_idx": SWITCH,
        "add_cross_attention": st.sampled_from([False, False, True]), "attn_pdrop": RATE, "resid_pdrop": RATE,
    },
    "olmo2": BIASED,
}  # fmt: skip
"""Of each family what changes its tensors, and what might be taken to."""
MAY_BE_REFUSED = {
    "output_router_logits", "router_jitter_noise", "attn_logit_softcapping", "final_logit_softcapping",
    "use_bidirectional_attention", "add_cross_attention", "num_kv_heads", "parallel_attn", "num_ln_in_parallel_attn",
}  # fmt: skip
"""Keys of which some values are understood by nobody here, or that transformers builds and cannot run."""


@st.composite
def configurations(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    """Small sizes that fit each other, and any of the family's switches."""
    heads = draw(st.sampled_from([1, 2, 4]))
    hidden = heads * draw(st.sampled_from([4, 8]))
    sizes = {
        "hidden_size": hidden, "num_attention_heads": heads, "num_hidden_layers": draw(st.integers(1, MOST_LAYERS)),
        "vocab_size": draw(st.integers(3, 40)), "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2,
    }  # fmt: skip
    optional: Keys = {"tie_word_embeddings": SWITCH} | DROPPED | SWITCHES[kind]
    if kind == "gpt2":
        renamed = {"hidden_size": "n_embd", "num_attention_heads": "n_head", "num_hidden_layers": "n_layer"}
        sizes = {renamed.get(key, key): value for key, value in sizes.items()}
        optional["n_positions"] = st.integers(1, 30)
    else:
        optional["max_position_embeddings"] = st.integers(16, 64)
    if kind not in ("gpt2", "falcon"):
        optional["intermediate_size"] = SOME
    if kind not in ("gpt2", "falcon", "gpt_neox", "deepseek_v2", "deepseek_v3"):
        sizes["num_key_value_heads"] = draw(st.sampled_from([n for n in (1, 2, 4) if heads % n == 0]))
    if kind == "qwen3_next":
        sizes |= {"linear_num_key_heads": 2, "linear_num_value_heads": draw(st.sampled_from([2, 4]))}
    if "output_router_logits" in optional:
        sizes["num_experts_per_tok"] = draw(st.integers(1, 2))
    return {"model_type": kind} | sizes | draw(st.fixed_dictionaries({}, optional=optional))


def built(config: Mapping[str, Any]) -> tuple[int, dict[str, Any]] | None:
    """Parameters of transformers' network, and its configuration as written; None where it builds none."""
    try:
        return of_transformers(dict(config))
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError, ZeroDivisionError):
        return None


def refused(config: Mapping[str, Any]) -> EngineError | None:
    """What is not understood of it."""
    try:
        from_config(config)
    except EngineError as error:
        return error
    return None


def is_held_to_transformers(config: dict[str, Any]) -> bool:
    """Whether its parameters are those of the network; else the key that is not understood must be named."""
    error = refused(config)
    if error is not None:
        assert error.what in MAY_BE_REFUSED, str(error)
        assert error.value == config[error.what], str(error)
        return False
    real = built(config)
    if real is None:
        return False
    parameters, written = real
    assert from_config(config).parameters == parameters, json.dumps(config)
    assert from_config(written).parameters == parameters, json.dumps(config)
    return True


def test_every_family_has_its_switches() -> None:
    assert SWITCHES.keys() == FAMILIES.keys()


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_random_configuration_has_the_parameters_of_its_network_or_is_refused_by_name(kind: str) -> None:
    held: list[bool] = []

    @settings(max_examples=tries(60), derandomize=True, suppress_health_check=list(HealthCheck))
    @given(configurations(kind))
    def hold(config: dict[str, Any]) -> None:
        held.append(is_held_to_transformers(config))

    hold()
    assert sum(held) >= len(held) / 3, f"{sum(held)} of {len(held)}"
