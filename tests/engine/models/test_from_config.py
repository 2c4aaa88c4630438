"""Configurations: parameters equal those of transformers' own networks, and what is not understood is refused."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

from ironlaw import EngineError, estimate, model
from ironlaw.files import read
from ironlaw.files.words import words_of
from ironlaw.models import from_config
from ironlaw.models.config_json import essentials, published
from ironlaw.models.families import FAMILIES
from ironlaw.models.transformer import MOST_RUNS

PUBLISHED = published()
TINY = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100}


def of_transformers(config: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Parameters of the network that transformers builds, and the configuration as version 5 writes it."""
    config = config.get("text_config", config) | {"model_type": config["model_type"].replace("gemma3_text", "gemma3")}
    kind = {"gemma3": "gemma3_text"}.get(config["model_type"], config["model_type"])
    given = {key: value for key, value in config.items() if key != "model_type"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = CONFIG_MAPPING[kind](**given)
        with torch.device("meta"):
            network = AutoModelForCausalLM.from_config(settings)  # type: ignore[no-untyped-call]
    written = json.loads(settings.to_json_string(use_diff=False))
    return sum(p.numel() for p in network.parameters()), written


@pytest.mark.parametrize("layers", [1001, 10**9])
def test_more_layers_than_any_list_of_them_can_hold_are_refused_by_name(layers: int) -> None:
    with pytest.raises(EngineError, match=r"num_hidden_layers .* a whole number of at most 1000$"):
        from_config({"model_type": "llama", "intermediate_size": 128, **TINY, "num_hidden_layers": layers})


def test_more_changes_between_kinds_of_layers_than_any_model_has_are_refused() -> None:
    given = {"model_type": "qwen3_moe", **FAMILIES["qwen3_moe"][0], "decoder_sparse_step": 2}
    assert len(from_config({**given, "num_hidden_layers": MOST_RUNS}).stack) == MOST_RUNS
    with pytest.raises(EngineError, match=rf"^runs of like layers 257 .*at most {MOST_RUNS}"):
        from_config({**given, "num_hidden_layers": MOST_RUNS + 1})


def test_sixty_models_are_written_down_with_their_source() -> None:
    assert len(PUBLISHED) >= 60
    assert {entry["config"]["model_type"].replace("gemma3", "gemma3_text") for entry in PUBLISHED.values()} >= set(
        FAMILIES
    ) - {"gemma3"}
    for entry in PUBLISHED.values():
        assert entry["source"].startswith("https://")
        known = entry["config"].get("text_config", entry["config"])
        assert set(entry["from_memory"]) <= set(known)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_model_has_the_parameters_of_its_network(name: str) -> None:
    config = PUBLISHED[name]["config"]
    parameters, written = of_transformers(config)
    assert from_config(config).parameters == parameters
    assert from_config(written).parameters == parameters


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_counts_of_a_configuration_gives_the_same_model(name: str) -> None:
    config = {**PUBLISHED[name]["config"], "_name_or_path": "/home/me/secret", "tokenizer_class": "secret"}
    kept = essentials(config)
    assert "secret" not in json.dumps(kept)
    assert from_config(kept, "it") == from_config(config, "it")
    assert essentials(kept) == kept


@pytest.mark.parametrize("kind", FAMILIES)
def test_defaults_are_those_of_transformers(kind: str) -> None:
    config = {"model_type": kind, "num_hidden_layers": 5} | (
        {"num_experts_per_tok": 6} if kind == "deepseek_v2" else {}
    )
    parameters, written = of_transformers(config)
    assert from_config(config).parameters == parameters
    assert from_config(written).parameters == parameters


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ("gpt2-xl", "openai-community/gpt2-xl"),
        ("llama2-7b", "meta-llama/Llama-2-7b-hf"),
        ("llama3-8b", "meta-llama/Meta-Llama-3-8B"),
        ("qwen2.5-7b", "Qwen/Qwen2.5-7B"),
    ],
)
def test_a_configuration_is_the_model_of_that_name(config: str, name: str) -> None:
    assert from_config(PUBLISHED[name]["config"]).parameters == model(config).parameters


def test_a_llama_answers_as_the_shape_of_that_name() -> None:
    read = from_config(PUBLISHED["meta-llama/Llama-2-7b-hf"]["config"])
    mine, named = (estimate(one, "h200", sequence=1024, precision="bf16") for one in (read, model("llama2-7b")))
    assert mine.memory_bytes == named.memory_bytes
    assert mine.time == named.time


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "mamba2"}, "model_type 'mamba2' is unknown"),
        ({"model_type": "gpt_neo"}, "model_type 'gpt_neo' is unknown; allowed: deepseek_v2"),
        ({"model_type": "opt"}, "model_type 'opt' is unknown; allowed: deepseek_v2"),
        ({"model_type": "Llama"}, "model_type 'Llama' is unknown, did you mean llama?"),
        ({"model_type": "mixtarl"}, "model_type 'mixtarl' is unknown, did you mean mixtral?"),
        ({}, "model_type is missing; allowed: deepseek_v2,"),
        (
            {"model_type": "llama", "hidden_size": "wide"},
            "hidden_size 'wide' is not allowed; it must be a whole number",
        ),
        (
            {"model_type": "llama", "attention_bias": "no"},
            "attention_bias 'no' is not allowed; it must be True or False",
        ),
        ({"model_type": "llama", "use_magic": 3}, "use_magic 3 is not allowed with model_type llama, of which nobody"),
        ({"model_type": "llama", "hidden_act": "mish"}, "hidden_act 'mish' is unknown"),
        ({"model_type": "qwen3", "layer_types": ["chunked"] * 32}, "layer_types 'chunked' is unknown"),
        ({"model_type": "qwen3", "layer_types": ["full_attention"]}, "layer_types ['full_attention'] is not allowed"),
        ({"model_type": "qwen3", "num_key_value_heads": 5}, "kv_heads 5 is not allowed with heads 32"),
        ({"model_type": "deepseek_v2"}, "num_experts_per_tok is missing"),
        ({"model_type": "deepseek_v3", "moe_layer_freq": 2}, "moe_layer_freq 2 is"),
        ({"model_type": "phi3", "partial_rotary_factor": 2}, "partial_rotary_factor 2 is not allowed"),
        ({"model_type": "gemma2", "use_bidirectional_attention": True}, "use_bidirectional_attention True is"),
        ({"model_type": "llava", "text_config": {"model_type": "clip"}}, "model_type 'clip' is unknown"),
        (
            {"model_type": "gpt2", "add_cross_attention": True},
            "add_cross_attention True is not allowed with model_type",
        ),
        ({"model_type": "gpt2", "pruned_heads": {"0": [1]}}, "pruned_heads {'0': [1]} is not allowed with model_type"),
        (
            {"model_type": "llama", "quantization": {"bits": 4}},
            "quantization {'bits': 4} is not allowed with model_type",
        ),
        (
            {"model_type": "llama", "quantization_config": {"quant_method": "awq", "bits": 4}},
            "quantization_config 'awq' is not allowed, which changes the bytes of the weights; allowed: fp8, mxfp4, ",
        ),
        (
            {"model_type": "x", "text_config": {"model_type": "llama"}, "quantization_config": {"load_in_4bit": True}},
            "quantization_config {'load_in_4bit': True} is not allowed",
        ),
        (
            {"model_type": "llama", "gradient_checkpointing": True},
            "gradient_checkpointing True is not allowed, which a run says here, and no model; allowed: False, or check",
        ),
        (
            {"model_type": "mixtral", "output_router_logits": True},
            "output_router_logits True is not allowed, whose loss is not counted here",
        ),
        (
            {"model_type": "mixtral", "router_jitter_noise": 0.1},
            "router_jitter_noise 0.1 is not allowed, whose noise is not counted here",
        ),
        ({"model_type": "llama", "attention_dropout": 1.5}, "attention_dropout 1.5 is not allowed; it must be at"),
        ({"model_type": "gpt2", "resid_pdrop": "much"}, "resid_pdrop 'much' is not allowed"),
        (
            {"model_type": "falcon", "multi_query": False, "num_kv_heads": 2},
            "num_kv_heads 2 is not allowed with multi_query False; it must be 71, as many as heads",
        ),
        (
            {"model_type": "falcon", "new_decoder_architecture": True, "parallel_attn": False},
            "parallel_attn False is not allowed with new_decoder_architecture True",
        ),
        (
            {"model_type": "falcon", "num_ln_in_parallel_attn": 2},
            "num_ln_in_parallel_attn 2 is not allowed with new_decoder_architecture False",
        ),
        ({"model_type": "llava", "text_config": 3}, "text_config 3 is not allowed; it must be a JSON object"),
    ],
)
def test_what_is_not_understood_is_refused_in_one_line(config: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError) as error:
        from_config(config)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("kind", "biases"), [("deepseek_v2", 2), ("deepseek_v3", 0)])
def test_biases_of_a_mixtures_dense_parts_are_those_that_the_model_file_reads(kind: str, biases: int) -> None:
    """DeepSeek V2 has them in its dense and shared parts, V3 nowhere."""
    config = TINY | {"model_type": kind, "num_hidden_layers": 3, "first_k_dense_replace": 1, "intermediate_size": 24}
    config |= {"n_shared_experts": 2, "moe_intermediate_size": 12, "num_experts_per_tok": 2, "n_routed_experts": 8}
    plain, biased = (from_config(config | {"mlp_bias": bias}) for bias in (False, True))
    assert of_transformers(config | {"mlp_bias": True})[0] == biased.parameters
    assert biased.parameters - plain.parameters == biases * 3 * (24 + 32)


def test_a_loss_for_balanced_experts_is_harmless_where_there_are_none_or_nothing_is_computed() -> None:
    for kind in ("llama", "deepseek_v3"):
        assert from_config({"model_type": kind, "output_router_logits": True}) == from_config({"model_type": kind})


def test_old_and_new_spellings_are_one() -> None:
    old = {"model_type": "phi3", "partial_rotary_factor": 0.5, "rope_theta": 1e4, "torch_dtype": "bfloat16"}
    new = {
        "model_type": "phi3",
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5},
        "dtype": "bfloat16",
    }
    assert from_config(old) == from_config(new)
    nested = {"model_type": "gemma3", "text_config": {"hidden_size": 2560}, "vision_config": {"hidden_size": 1152}}
    assert from_config(nested).parameters == from_config({"model_type": "gemma3_text", "hidden_size": 2560}).parameters


def test_a_file_and_its_folder_are_read(tmp_path: Path) -> None:
    config = TINY | {"model_type": "llama", "_name_or_path": "somebody/tiny"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert from_config(tmp_path) == from_config(str(tmp_path / "config.json")) == from_config(config)
    assert from_config(tmp_path).name == "tiny"
    (tmp_path / "config.json").write_text("[1, 2]")
    for path in (tmp_path, tmp_path / "absent.json"):
        with pytest.raises(EngineError, match="it must be a file with a JSON object"):
            from_config(path)


@pytest.mark.parametrize("quantized", [None, {}, {"quant_method": "fp8"}, {"quant_method": "mxfp4"}])
def test_weights_that_are_widened_before_training_change_nothing(quantized: Any) -> None:
    plain = from_config({"model_type": "llama"})
    assert from_config({"model_type": "llama", "quantization_config": quantized}) == plain


@pytest.mark.parametrize("kind", [["llama"], {"a": 1}, 5])
def test_a_kind_that_is_no_text_is_refused(kind: Any) -> None:
    for config in ({"model_type": kind}, {"model_type": kind, "text_config": {"hidden_size": 3}}):
        with pytest.raises(EngineError, match=r"model_type .* is unknown; allowed: deepseek_v2"):
            from_config(config)
    with pytest.raises(EngineError, match=r"model_type .* is unknown; allowed: deepseek_v2"):
        words_of([read(json.dumps({"architectures": ["x"], "model_type": kind}))], {"gpu": "h100-sxm"})


def test_a_name_that_a_terminal_would_obey_is_refused() -> None:
    with pytest.raises(EngineError, match=r"name 'a\\x1b\[31m' is not allowed; it must be printable"):
        from_config(published()["Qwen/Qwen2.5-7B"]["config"] | {"_name_or_path": "x/a\x1b[31m"})


def test_a_name_that_fills_a_terminal_is_refused() -> None:
    with pytest.raises(EngineError, match=r"name 'kkk.* is not allowed; it must be .* of at most 200 characters"):
        from_config(published()["Qwen/Qwen2.5-7B"]["config"] | {"_name_or_path": "k" * 900_000})


SECRET = "sEcReT-tOkEn"
FORMS: tuple[Any, ...] = (
    SECRET, [SECRET], {"x": SECRET}, {"partial_rotary_factor": SECRET}, {"a": {"partial_rotary_factor": SECRET}},
    [[SECRET]], [{"x": SECRET}], {SECRET: 1}, {"partial_rotary_factor": [SECRET]},
)  # fmt: skip
ONE_OF_EACH = {entry["config"]["model_type"]: entry["config"] for entry in PUBLISHED.values()}


@pytest.mark.parametrize("kind", FAMILIES)
def test_what_somebody_wrote_into_a_key_is_refused_or_left_out(kind: str) -> None:
    """Links and exports hold what is left of a configuration."""
    config = {"model_type": kind, **ONE_OF_EACH.get(kind, {})}
    keys = {*config, *FAMILIES[kind][0], "rope_scaling", "rope_parameters", "sliding_window", "layer_types"} - {
        "model_type"
    }
    kept = 0
    for key in keys:
        for form in FORMS:
            try:
                kept += 1
                assert SECRET not in json.dumps(essentials({**config, key: form})), (key, form)
            except EngineError:
                continue
    assert kept == len(keys) * len(FORMS)
