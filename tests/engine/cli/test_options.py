"""Every option reaches the engine, and the JSON is the library's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ironlaw.answers.estimate import estimate
from ironlaw.cli.options import GROUPS, OPTIONS, TRAINED, Option
from ironlaw.models import from_config
from tests.engine.cli.asking import answer

VALUED = [option for option in OPTIONS.values() if option.kind is not None and option.flag != "--config"]
SWITCHES = [option for option in OPTIONS.values() if option.kind is None]
GOOD = {
    "--model": "gpt2", "--gpu": "h200", "--checkpointing": "every:3", "--loss": "chunked:4", "--dropout": "0.1",
    "--logits": "fp32",
    "--link": "pcie-5-x16", "--network": "ethernet-100", "--zero": "2", "--mlp": "swiglu", "--norm": "rmsnorm",
    "--position": "rope", "--precision": "bf16", "--optimizer": "lion", "--attention": "standard",
    "--offload": "optimizer", "--update": "fused", "--framework": "megatron", "--attention-generation": "1",
    "--execution": "compiled", "--runtime": "deepspeed", "--schedule": "gpipe", "--network-gbit": "12.5",
    "--accumulation": "separate", "--rms-norm": "fused", "--method": "lora", "--lora-targets": "c_attn",
    "--lora-dropout": "0.1", "--adapter-format": "16-bit", "--base-format": "fp32", "--quantization-block": "256",
    "--frozen": "wte", "--offload-sizes": "bucket:9000000", "--eval-batch": "256", "--reference": "16-bit",
    "--imbalance": "1.5", "--rollout": "beside:0.3",
}  # fmt: skip
BESIDE = {
    "--pp": {"--micro-batches": "4"}, "--logits": {"--precision": "bf16"}, "--runtime": {"--precision": "mixed"},
    "--schedule": {"--pp": "2", "--micro-batches": "4"}, "--network-gbit": {"--dp": "16"},
    "--accumulation": {"--framework": "megatron", "--accumulate": "2"}, "--rms-norm": {"--model": "llama3-8b"},
    "--ep": {"--model": "Qwen/Qwen3-30B-A3B"}, "--imbalance": {"--model": "Qwen/Qwen3-30B-A3B", "--ep": "2"},
    "--interleave": {"--pp": "2", "--micro-batches": "4"}, "--offload-sizes": {"--offload": "gradients"},
}  # fmt: skip
"""What stands beside an option, so that it changes something."""


def test_the_json_is_the_librarys_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "estimate --model gpt2-xl --batch 8 --seq 1024 --precision amp-bf16 --optimizer adamw --attention flash "
        "--checkpointing none --loss full --dropout 0 --gpu h200"
    )
    plain = answer(capsys, *words.split())
    assert plain == estimate("gpt2-xl", "h200", batch=8, sequence=1024, precision="amp-bf16").as_dict()
    assert list(plain) == [
        "parameters", "memory_bytes", "flops", "time", "energy_j_per_token", "usd_per_1e9_tokens", "fits",
        "assumptions", "verdict", "calibrated",
    ]  # fmt: skip
    assert all(type(size) is int for size in (plain["parameters"], *plain["memory_bytes"].values()))


def test_a_model_by_shape_is_the_model_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    gpt2 = "--layers 12 --hidden 768 --heads 12 --vocab 50257 --max-seq 1024 --tied --bias --mlp gelu --norm layernorm"
    llama = (
        "--layers 32 --hidden 4096 --heads 32 --kv-heads 8 --ffn 14336 --vocab 128256 --max-seq 8192 --untied "
        "--no-bias --mlp swiglu --norm rmsnorm --position rope"
    )
    for name, shape in (("gpt2", gpt2), ("llama3-8b", llama)):
        by_name = answer(capsys, "estimate", "--model", name)
        by_shape = answer(capsys, "estimate", *shape.split())
        assert by_shape == by_name


def test_a_model_by_configuration_is_the_librarys(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = {"model_type": "qwen3_moe", "num_hidden_layers": 4, "head_dim": 128}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    words = ("--config", str(path), "--gpu", "h200", "--seq", "512")
    assert answer(capsys, "estimate", *words) == estimate(from_config(config), "h200", sequence=512).as_dict()
    rows = answer(capsys, "sweep", *words, "--vary", "batch=1,2")
    assert [row["options"] for row in rows] == [{"batch": "1"}, {"batch": "2"}]


@pytest.mark.parametrize("option", VALUED, ids=lambda option: option.flag)
def test_every_option_is_accepted_and_reaches_the_engine(capsys: pytest.CaptureFixture[str], option: Option) -> None:
    base = {"--model": "gpt2", "--gpu": "h200", "--batch": "8", "--dp": "2"}
    if option in GROUPS["model"] and option.flag != "--model":
        base = {"--layers": "4", "--hidden": "512", "--heads": "8", "--seq": "64", "--dp": "2"}
    if option in TRAINED and option.flag not in ("--method", "--frozen"):
        base["--method"] = "qlora" if "quantization" in option.flag else "lora"
    base |= BESIDE.get(option.flag, {})
    value = GOOD.get(option.flag, {"--max-seq": "2048", "--hidden": "2048"}.get(option.flag, "2"))
    before = base | ({"--model": "gpt2-medium"} if option.flag == "--model" else {})
    before.pop(option.flag, None) if option.flag != "--model" else None
    if option.flag in ("--layers", "--hidden", "--heads"):
        before[option.flag] = "16" if option.flag == "--heads" else "1024"
    flat = [word for pair in before.items() for word in pair]
    changed = [word for pair in (before | {option.flag: value}).items() for word in pair]
    assert answer(capsys, "estimate", *changed) != answer(capsys, "estimate", *flat)


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda option: option.flag)
def test_every_switch_is_accepted(capsys: pytest.CaptureFixture[str], switch: Option) -> None:
    # If embedding and head count as blocks, the last of four stages has one of the eight blocks; otherwise it has two.
    shape = ["--layers", "8", "--hidden", "512", "--heads", "8", "--dp", "2", "--tp", "2", "--pp", "4"]
    if switch in TRAINED:  # adapters are on one device
        shape = [*shape[:6], "--method", "qlora"]
    if switch.flag == "--eval-logits":
        shape += ["--loss", "chunked:8", "--eval-batch", "256"]
    before, after = answer(capsys, "estimate", *shape), answer(capsys, "estimate", *shape, switch.flag)
    assert (after == before) == (switch.flag in ("--tied", "--bias"))
