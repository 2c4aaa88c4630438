"""What a plan is exported to says the same when it is read again, and nothing that was pasted is in it."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ironlaw import setup
from ironlaw.cli.options import GROUPS
from ironlaw.cli.parser import Parser
from ironlaw.config.choices import Buffers
from ironlaw.config.resolved import Setup
from ironlaw.core.errors import EngineError
from ironlaw.files import launch, parts, read
from ironlaw.files.exports import OTHERWISE, command, exports
from ironlaw.files.words import words_of

CARD = {"model": "llama3-8b", "gpu": "h100-sxm"}


def again(*texts: str, **given: Any) -> Setup:
    """The setup of exported texts, with the model and the card given."""
    return setup(**words_of([read(text) for text in texts], {**CARD, **given}).words)


def trained(**words: Any) -> dict[str, Any]:
    return {**CARD, "batch": 2, "sequence": 4096, "accumulate": 4, **words}


@pytest.mark.parametrize("division", [{}, {"dp": 8}, {"dp": 16, "zero": 2}, {"dp": 8, "zero": 3}], ids=str)
@pytest.mark.parametrize(
    "words",
    [
        {"precision": "bf16", "checkpointing": "full", "update": "fused"},
        {"precision": "amp-bf16", "attention": "standard", "optimizer": "adamw-8bit"},
        {"precision": "amp-fp16", "loss": "chunked:8", "execution": "compiled", "update": "fused"},
        {"precision": "fp32", "optimizer": "lion"},
        {"method": "lora", "lora_rank": 8, "lora_targets": "q_proj,v_proj", "dora": True},
        {"method": "qlora", "double_quantization": False, "optimizer": "paged-adamw-8bit"},
    ],
    ids=lambda words: words.get("method", words.get("precision")),
)
def test_a_launch_command_and_a_trainers_file_say_the_setup(words: dict[str, Any], division: dict[str, int]) -> None:
    if "method" in words and division.get("zero") == 3:
        division = {**division, "zero": 2}
    if words.get("method") == "qlora" and division.get("zero") == 2:
        assert "fsdp" not in exports(trained(**words, **division))  # which keeps nothing in FP32 beside 4 bits
        words = {**words, "base_format": "16-bit"}
    zero, precision = division.get("zero", 0), str(words.get("precision"))
    if zero > 1 and precision.startswith("amp"):
        # accelerate gives FSDP its mixed precision: autocast beside it cannot be asked for.
        assert not {"fsdp", "torchrun", "accelerate"} & exports(trained(**words, **division)).keys()
        words = {**words, "precision": "mixed-bf16"}
    asked = setup(**trained(**words, **division))
    texts = exports(trained(**words, **division))
    assert again(texts["torchrun"]) == asked
    assert ("fsdp" in texts) == (zero > 1)
    if zero:
        # How many devices there are is no setting of a Trainer.
        assert again(texts["fsdp"], dp=division["dp"], zero=zero) == asked


def test_a_launch_line_is_a_whole_command_that_marks_what_is_the_readers() -> None:
    far = trained(dp=16, zero=3, precision="mixed-bf16", model="Qwen/Qwen3-8B")
    note, line = exports(far)["torchrun"].split("\n")
    start = "torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint FIRST_MACHINE:29500 --rdzv-id "
    assert line.startswith(start)
    assert (
        " -m trl.scripts.sft --model_name_or_path Qwen/Qwen3-8B --dataset_name YOUR_DATASET --output_dir out " in line
    )
    for mark in ("-m trl.scripts.sft", "YOUR_DATASET", "FIRST_MACHINE"):
        assert f" {mark} to " in note
    assert not {"YOUR_MODEL", "--mock-data", "deepspeed.json"} & set(note.split())
    assert words_of([read(exports(far)["torchrun"])], {"gpu": "h100-sxm"}).words["model"] == "Qwen/Qwen3-8B"
    alone = exports(trained(precision="deepspeed", dp=8, zero=3))["torchrun"]
    assert "rdzv" not in alone
    assert " YOUR_MODEL to " in alone.split("\n")[0]
    assert " deepspeed.json to " in alone.split("\n")[0]
    # The note is no obstacle where somebody pastes the line with a file behind it.
    file = "base_model: NousResearch/Meta-Llama-3-8B\nmicro_batch_size: 2\n"
    assert [one.kind for _, one in parts(f"{alone}\n{file}")] == ["command", "axolotl"]


@pytest.mark.parametrize(
    ("gpu", "name"),
    [("t4", "sdpa"), ("v100-32", "sdpa"), ("a100-40", "flash_attention_2"), ("rtx-4090", "flash_attention_2")],
)
def test_flash_attention_2_is_asked_for_on_cards_that_it_runs_on(gpu: str, name: str) -> None:
    short = "amp-fp16" if name == "sdpa" else "amp-bf16"
    words = trained(gpu=gpu, model="gpt2", sequence=1024, precision=short)
    assert f" --attn_implementation {name} " in exports(words)["torchrun"]
    sharded = exports({**words, "dp": 8, "zero": 3, "precision": "mixed" if short == "amp-fp16" else "mixed-bf16"})
    assert all(f"attn_implementation: {name}" in text for kind, text in sharded.items() if kind == "fsdp")
    plain = exports({**words, "attention": "standard"})["torchrun"]
    assert " --attn_implementation eager " in plain


@pytest.mark.parametrize(("name", "words"), [
    ("llama3-8b", "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
     "--kv-channels 128 --max-position-embeddings 8192 --position-embedding-type rope --normalization RMSNorm "
     "--group-query-attention --num-query-groups 8 --swiglu --disable-bias-linear "
     "--untie-embeddings-and-output-weights --hidden-dropout 0.0 --attention-dropout 0.0 "),
    ("gpt2", "--num-layers 12 --hidden-size 768 --ffn-hidden-size 3072 --num-attention-heads 12 --kv-channels 64 "
     "--max-position-embeddings 1024 --position-embedding-type learned_absolute --normalization LayerNorm --hidden-"),
    ("Qwen/Qwen3-8B", " --swiglu --qk-layernorm --disable-bias-linear --untie-"),
    ("Qwen/Qwen2.5-7B", " --swiglu --disable-bias-linear --add-qkv-bias --untie-"),
])  # fmt: skip
def test_a_command_of_megatron_says_the_model(name: str, words: str) -> None:
    line = exports({**CARD, "model": name, "tp": 2, "sequence": 1024, "precision": "amp-bf16"})["torchrun"]
    assert f" {words.strip()}" in line
    assert " --train-iters 100 --lr 0.0001 --tokenizer-type NullTokenizer --vocab-size " in line
    assert line.endswith("--mock-data")


@pytest.mark.parametrize(
    "name", ["google/gemma-2-9b", "mistralai/Mistral-7B-v0.1", "EleutherAI/pythia-1b", "bloom-176b"]
)
def test_a_model_that_megatron_cannot_say_has_no_command(name: str) -> None:
    words = {**CARD, "model": name, "tp": 2, "precision": "amp-bf16"}
    assert "torchrun" not in exports({**words, "sequence": 1024})


def test_a_file_for_deepspeed_stands_beside_fsdp_s_and_says_the_same() -> None:
    words = trained(dp=8, zero=3, precision="mixed-bf16")
    texts = exports(words)
    launch = read("torchrun --nproc-per-node 8 train.py")
    found = words_of([read(texts["deepspeed"]), launch], {**CARD, "sequence": 4096})
    assert again(texts["accelerate"], texts["torchrun"]) == setup(**words)
    # What DeepSpeed has besides is counted where its file is read.
    assert setup(**found.words) == setup(**words, offload_sizes=Buffers())


def test_a_command_of_megatron_says_how_matrices_and_layers_are_divided() -> None:
    divided = {"dp": 2, "tp": 4, "pp": 2, "zero": 1, "accumulate": 1, "micro_batches": 8, "checkpointing": "full"}
    own = trained(**divided, precision="megatron", framework="megatron", sequence_parallel=True)
    own.pop("update", None)
    assert again(exports(own)["torchrun"]) == setup(**own)
    # Of PyTorch's operations the same command is written, which says so: read back it is Megatron-LM's.
    texts = exports(trained(**divided, precision="amp-bf16"))
    assert OTHERWISE in texts["torchrun"]
    assert again(texts["torchrun"]) == setup(**{**own, "sequence_parallel": False})


@pytest.mark.parametrize("offload", ["none", "optimizer"])
@pytest.mark.parametrize(
    "words",
    [
        {"precision": "deepspeed", "runtime": "deepspeed", "dp": 8, "zero": 1},
        {"precision": "deepspeed", "dp": 8, "zero": 3},
        {"precision": "mixed-bf16", "runtime": "deepspeed", "dp": 8, "zero": 1},
        {"precision": "mixed", "dp": 16, "zero": 2},
    ],
    ids=str,
)
def test_files_for_deepspeed_say_what_it_divides(words: dict[str, Any], offload: str) -> None:
    if offload != "none" and words["zero"] > 1:
        assert "deepspeed" not in exports(trained(**words, offload=offload))  # it takes gradients with the states
        offload = "gradients"
    if words["zero"] > 1:
        words = {**words, "offload_sizes": "bucket:500000000"}
    words = trained(**words, offload=offload)
    texts, asked = exports(words), setup(**words)
    assert "fsdp" not in texts
    launch = read(f"torchrun --nnodes {words['dp'] // 8} --nproc-per-node 8 train.py")
    for others in ([launch], [read(texts["accelerate"])]):
        found = words_of([read(texts["deepspeed"]), *others], {**CARD, "sequence": 4096})
        assert setup(**found.words) == asked
        assert (asked.update.buffers is not None) == (asked.layout.zero > 1)


@pytest.mark.parametrize(("zero", "gathers"), [(2, False), (3, True)])
def test_files_for_deepspeed_clip_gradients_and_save_a_whole_model(zero: int, gathers: bool) -> None:
    """As Trainer and accelerate take them (`transformers/integrations/deepspeed.py`, accelerate's `cluster.py`)."""
    texts = exports(trained(precision="deepspeed", dp=8, zero=zero, offload_sizes=Buffers().name))
    engine = json.loads(texts["deepspeed"])
    assert engine["gradient_clipping"] == "auto"
    assert engine["zero_optimization"].get("stage3_gather_16bit_weights_on_model_save", False) is gathers
    assert ("\n  zero3_save_16bit_model: true\n" in texts["accelerate"]) is gathers
    for name in ("deepspeed", "accelerate"):
        assert not read(texts[name]).missing


@pytest.mark.parametrize("how", ["none", "full"])
@pytest.mark.parametrize(("zero", "offload"), [(2, "none"), (2, "optimizer"), (3, "none"), (3, "shards")])
def test_a_file_for_accelerate_says_what_fsdp_divides_and_the_script_s_options_the_rest(
    zero: int, offload: str, how: str
) -> None:
    words = trained(dp=16, zero=zero, offload=offload, checkpointing=how, precision="mixed-bf16")
    texts = exports(words)
    # A Trainer refuses to start where both ask for checkpointing.
    assert "checkpointing" not in texts["accelerate"]
    assert again(texts["accelerate"], batch=2, sequence=4096, accumulate=4, checkpointing=how) == setup(**words)
    assert again(texts["accelerate"], texts["torchrun"]) == setup(**words)


@given(
    st.fixed_dictionaries(
        {"batch": st.integers(1, 64), "sequence": st.integers(64, 8192), "accumulate": st.sampled_from([1, 2, 5])},
        optional={
            "precision": st.sampled_from(
                ["amp-bf16", "bf16", "amp-fp16", "mixed", "mixed-bf16", "megatron", "deepspeed", "fp32"]
            ),
            "optimizer": st.sampled_from(["adamw", "adamw-8bit", "adafactor", "lion", "sgd", "paged-adamw-8bit"]),
            "attention": st.sampled_from(["flash", "standard"]),
            "checkpointing": st.sampled_from(["none", "selective", "full"]),
            "loss": st.just("chunked:8"),
            "execution": st.just("compiled"),
            "offload": st.just("optimizer"),
            "method": st.sampled_from(["lora", "qlora"]),
            "lora_rank": st.sampled_from([4, 8, 64]),
            "dp": st.sampled_from([2, 4, 8, 16, 64]),
            "zero": st.sampled_from([1, 2, 3]),
            "tp": st.sampled_from([2, 4]),
            "pp": st.sampled_from([2, 4]),
            "framework": st.just("megatron"),
            "sequence_parallel": st.just(True),
        },
    )
)
def test_what_is_exported_and_read_again_is_the_same_plan(words: dict[str, Any]) -> None:
    """Every text that can be written, read alone or with the one that it belongs to, says the plan."""
    words = {**CARD, **words}
    if words.get("pp", 1) > 1:
        words |= {"micro_batches": words.pop("accumulate"), "accumulate": 1}
    try:
        asked = setup(**words)
    except EngineError:
        assume(False)
    texts = exports(words)
    if OTHERWISE in texts.get("torchrun", ""):
        own = {"amp-bf16": "megatron", "amp-fp16": "mixed", "fp32": "fp32"}[asked.precision.name]
        words = {**words, "framework": "megatron", "precision": own, "update": None}
        asked = setup(**words)
        assert exports(words)["torchrun"] == texts["torchrun"].replace(f"# {OTHERWISE}\n", "")
    if "torchrun" in texts:
        beside = [texts["deepspeed"]] if "deepspeed.json" in texts["torchrun"] else []
        found = again(texts["torchrun"], *beside)
        if beside and asked.update.buffers is None:
            # DeepSpeed has buffers for what it divides, also where the plan names none.
            asked = replace(asked, update=replace(asked.update, buffers=found.update.buffers))
        assert found == asked
        if "accelerate" in texts:
            assert again(texts["accelerate"], texts["torchrun"], *beside) == asked
    if "fsdp" in texts:
        assert again(texts["fsdp"], dp=words["dp"], zero=words["zero"]) == asked


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        ({}, {"torchrun", "accelerate"}),
        ({"precision": "bf16", "method": "lora"}, {"accelerate"}),
        ({"checkpointing": "every:2"}, {"accelerate"}),
        ({"optimizer_in_backward": True, "accumulate": 1}, {"accelerate"}),
        ({"offload": "optimizer", "precision": "fp32"}, {"deepspeed"}),
        ({"precision": "fp8"}, {"accelerate"}),
        ({"dp": 12, "zero": 3}, set()),
        ({"dp": 12, "zero": 3, "precision": "mixed-bf16"}, {"torchrun", "accelerate", "fsdp", "deepspeed"}),
        ({"method": "qlora", "base_format": "16-bit"}, {"accelerate"}),
        ({"dp": 13, "zero": 3, "precision": "mixed-bf16"}, {"torchrun", "accelerate", "fsdp", "deepspeed"}),
    ],
    ids=lambda given: "-".join(sorted(given)) if isinstance(given, set) else str(given),
)
def test_what_a_program_cannot_say_is_left_out(words: dict[str, Any], kinds: set[str]) -> None:
    assert exports(trained(**words)).keys() - {"command", "markdown", "json"} == kinds


OPTIONAL = {option.argument: option for group in GROUPS.values() for option in group if option.kind is None}


@given(
    st.fixed_dictionaries(
        {"model": st.just("gpt2"), "gpu": st.just("h100-sxm")},
        optional={
            "sequence": st.sampled_from([128, 1024]),
            "dropout": st.sampled_from([0.1, 0.25]),
            "dp": st.sampled_from([2, 8]),
            "zero": st.sampled_from([0, 3]),
            "network_gbit": st.just(12.5),
            "frozen": st.just("wte,blocks.0.*"),
            "method": st.sampled_from(["lora", "qlora"]),
            **{word: st.booleans() for word in OPTIONAL if word not in ("tied", "bias")},
        },
    )
)
def test_our_command_line_says_every_word(words: dict[str, Any]) -> None:
    try:
        asked = setup(**words)
    except EngineError:
        assume(False)
    parser = Parser("estimate", "")
    parser.add_options(GROUPS)
    assert setup(**parser.parse(shlex.split(command(words))[4:])) == asked


SECRETS = """\
model_name_or_path: /home/alice/private/zebra-model
hf_token: hf_abcdefSECRET
wandb_project: skunkworks
run_name: alices-run
output_dir: /mnt/nas/alice/out
dataset_name: acme-corp/private-emails
per_device_train_batch_size: 2
use_peft: true
lora_target_modules: [q_proj, v_proj]
"""
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "_name_or_path": "/home/alice/private/zebra-model",
    "hidden_size": 64, "intermediate_size": 172, "num_attention_heads": 4, "num_key_value_heads": 2,
    "num_hidden_layers": 2, "vocab_size": 512, "max_position_embeddings": 2048, "hidden_act": "silu",
    "rms_norm_eps": 1e-5, "tie_word_embeddings": False,
}  # fmt: skip


def test_nothing_that_was_pasted_is_in_an_export() -> None:
    readings = [read(SECRETS), read(json.dumps(CONFIG))]
    texts = exports(words_of(readings, {"gpu": "rtx-4090"}))
    assert {"command", "torchrun", "accelerate", "markdown", "json"} <= texts.keys()
    told = " ".join(texts.values()).lower()
    for secret in ("alice", "private", "zebra", "secret", "hf_", "skunk", "nas", "acme", "emails", "/home"):
        assert secret not in told, secret
    assert "q_proj" in told
    assert json.loads(texts["json"])["setup"]["model"]["hidden"] == 64


def test_the_block_for_an_issue_says_what_each_part_is() -> None:
    text = exports({**CARD, "method": "lora"})["markdown"]
    assert "| temporary at the peak, less what is not alive then |" in text
    assert "balance" not in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"method": "lora"}, "--dtype bfloat16"),
        ({"method": "qlora"}, "--dtype bfloat16"),
        ({"method": "lora", "base_format": "fp32"}, "--dtype float32"),
    ],
    ids=str,
)
def test_frozen_weights_are_loaded_as_the_plan_counts_them(words: dict[str, Any], said: str) -> None:
    """TRL loads in FP32 where nothing is said: 30 GB for a model of 7.6 billion parameters."""
    assert f"{said} " in exports({**CARD, **words})["torchrun"] + " "


def test_devices_that_share_sequences_are_an_option_of_megatron_and_of_no_trainer() -> None:
    words = {"model": "llama3.1-8b", "gpu": "h100-sxm", "sequence": 32768, "dp": 2, "tp": 2, "zero": 1}
    texts = exports({**words, "cp": 4})
    assert "--context-parallel-size 4 " in texts["torchrun"]
    assert "--nproc-per-node 8 --nnodes 2" in texts["torchrun"] or "--nnodes 2 --nproc-per-node 8" in texts["torchrun"]
    assert not {"accelerate", "deepspeed", "fsdp"} & texts.keys()
    assert texts["command"].endswith("--cp 4")
    assert "context-parallel" not in exports(words)["torchrun"]


@pytest.mark.parametrize(
    ("devices", "tensor", "machines"),
    [
        (4, 1, (1, 4)),
        (12, 1, (2, 6)),
        (13, 1, (13, 1)),
        (20, 1, (4, 5)),
        (20, 2, (5, 4)),
        (24, 4, (3, 8)),
        (32, 8, (4, 8)),
    ],
)
def test_machines_are_the_fewest_equal_ones_with_whole_groups(
    devices: int, tensor: int, machines: tuple[int, int]
) -> None:
    c = setup("llama3-8b", "h100-sxm", batch=1, sequence=512, dp=devices // tensor, tp=tensor, method="full")
    assert launch.nodes(c) == machines


def test_what_the_peak_does_not_have_is_told_as_that_and_not_as_temporary() -> None:
    told = exports({"model": "llama3-8b", "gpu": "h100-sxm", "method": "full", "optimizer": "sgd"})["markdown"]
    rows = dict(re.findall(r"^\| \**([^|*]+?)\** \| (-?[\d.,]+) \|$", told, re.MULTILINE))
    assert [name for name, size in rows.items() if size.startswith("-")] == [
        "not alive at the peak, less what is temporary then"
    ]
    sizes = {name: float(size.replace(",", "")) for name, size in rows.items()}
    assert sizes.pop("all") == pytest.approx(sum(sizes.values()), abs=0.05)
