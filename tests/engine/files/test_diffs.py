"""A diff of a pasted file makes exactly the change: applied and read again, the file says the changed words."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw import accelerator, setup
from ironlaw.answers.advice import advice
from ironlaw.files import read
from ironlaw.files.diffs import diff, edited
from ironlaw.files.words import words_of

TEXTS = {
    "axolotl": (
        "# ours\nbase_model: NousResearch/Meta-Llama-3.1-8B\nhf_token: hf_x  # mine\nmicro_batch_size: 4  # a card\n"
        "gradient_accumulation_steps: 2\ngradient_checkpointing: false # slow\noptimizer: adamw_torch\nbf16: true\n"
        "sequence_len: 2048\neager_attention: true\nspecial_tokens:\n  pad_token: <|end|>\n"
    ),
    "LLaMA-Factory": (
        "model_name_or_path: gpt2\nstage: sft\nfinetuning_type: full\nbf16: true\nper_device_train_batch_size: 4\r\n"
        "gradient_accumulation_steps: 2\r\ndisable_gradient_checkpointing: true\r\nflash_attn: disabled\r\n"
        "template: x\r\n"
    ).replace("\r\n", "\n").replace("\n", "\r\n"),
    "TRL": (
        "dataset_name: a/b\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\n"
        "gradient_checkpointing:   no\nattn_implementation: 'eager'\nbf16: true\ndtype: float32"
    ),
    "command": (
        "torchrun --nproc-per-node 8 sft.py \\\n  --per-device-train-batch-size 4 --gradient_accumulation_steps=2 \\\n"
        "  --max_length 2048 --bf16 --gradient_checkpointing False --attn_implementation eager --dtype float32\n"
    ),
    "DeepSpeed": (
        '{\n    "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2,\n    "zero_optimization": {\n'
        '        "stage": 2, "overlap_comm": true\n    },\n    "bf16": {"enabled": true}\n}\n'
    ),
    "accelerate": (
        "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  # old\n"
        "  fsdp_sharding_strategy: SHARD_GRAD_OP # two\n  fsdp_offload_params: false\nmixed_precision: bf16\n"
        "num_machines: 1\nnum_processes: 8\n"
    ),
}  # fmt: skip
GIVEN = {"model": "llama3-8b", "gpu": "h100-sxm"}
BATCH = {"batch": 1, "accumulate": 8, "micro_batches": 1}
OF_A_TRAINER: tuple[dict[str, Any], ...] = (
    BATCH, {"checkpointing": "full"}, {"optimizer": "adamw-8bit"}, {"update": "fused"}, {"attention": "flash"},
    {"loss": "chunked:8"}, {"execution": "compiled", "update": "fused"},
)  # fmt: skip
CASES = [
    *((kind, words) for kind in ("axolotl", "LLaMA-Factory", "TRL", "command") for words in OF_A_TRAINER),
    *(("DeepSpeed", words) for words in (BATCH, {"zero": 3}, {"offload": "gradients"})),
    *(("accelerate", words) for words in ({"zero": 3}, {"offload": "optimizer"}, {"checkpointing": "full"})),
]


def understood(text: str) -> dict[str, Any]:
    readings = [read(text), *([read("torchrun --nproc-per-node 8 t.py")] if "zero_optimization" in text else [])]
    return {"accumulate": 1, "optimizer": "adamw", **words_of(readings, GIVEN).words}


@pytest.mark.parametrize(("kind", "words"), CASES, ids=str)
def test_a_diff_makes_the_change_and_nothing_else(kind: str, words: dict[str, Any], tmp_path: Path) -> None:
    text = TEXTS[kind]
    assert read(text).kind == kind
    made = diff(text, words, "settings")
    assert made is not None
    path = tmp_path / "settings"
    path.write_text(text, encoding="utf-8", newline="")
    subprocess.run(["git", "apply", "-p0"], input=made.encode(), cwd=tmp_path, check=True)
    after = path.read_bytes().decode()
    assert after == edited(text, words)
    found = understood(after)
    # `overlap_comm` makes two of ZeRO-2's buckets alone.
    bucket = {"DeepSpeed": "bucket:500000000" if words.get("zero") == 3 else "bucket:1000000000"}.get(kind)
    assert (found.pop("offload_sizes", "") or "").partition(",")[0] == (bucket or "")
    before = {word: value for word, value in understood(text).items() if word != "offload_sizes"}
    assert found == {**before, **{k: v for k, v in words.items() if k != "micro_batches"}}
    comments = [[line.partition("#")[2] for line in one.splitlines() if "#" in line] for one in (text, after)]
    assert comments[0] == comments[1]
    assert sum(line.startswith("-") for line in made.splitlines()[2:]) <= 2


@pytest.mark.parametrize(
    ("said", "after"),
    [
        ("", "dtype: bfloat16"),
        ("torch_dtype: float32\n", "torch_dtype: bfloat16"),
        ("dtype: float32\n", "dtype: bfloat16"),
        ("fp16: true\nbf16: false\n", "dtype: float16"),
    ],
)
def test_frozen_weights_that_trl_loads_in_fp32_are_loaded_in_16_bits(said: str, after: str) -> None:
    text = f"model_name_or_path: gpt2\ndataset_name: x\nuse_peft: true\nper_device_train_batch_size: 1\n{said}"
    assert setup(**understood(text)).adaptation.base == "fp32"
    changed = edited(text, {"base_format": "16-bit"})
    assert changed is not None
    assert after in changed.splitlines()
    assert setup(**understood(changed)).adaptation.base == "16-bit"
    assert {**understood(changed), "base_format": "fp32"} == understood(text)


@pytest.mark.parametrize("kind", ["axolotl", "LLaMA-Factory", "TRL", "command"])
@pytest.mark.parametrize("method", ["lora", "qlora"])
def test_adapters_take_the_place_of_the_model(kind: str, method: str) -> None:
    after = edited(TEXTS[kind], {"method": method, "base_format": "16-bit", "precision": "amp-bf16"})
    assert after is not None
    found = understood(after)
    assert (found["method"], found["precision"]) == (method, "amp-bf16")
    assert setup(**found).adaptation.rank == 16


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("axolotl", {"checkpointing": "every:2"}),
        ("axolotl", {"zero": 3}),
        ("TRL", {"optimizer_in_backward": True}),
        ("DeepSpeed", {"checkpointing": "full"}),
        ("accelerate", {"batch": 1, "accumulate": 4, "micro_batches": 1}),
        ("accelerate", {"zero": 1}),
        ("command", {"dp": 16, "zero": 3}),
    ],
    ids=str,
)
def test_a_file_without_such_a_setting_has_no_diff(kind: str, words: dict[str, Any]) -> None:
    assert diff(TEXTS[kind], words) is None


def test_a_diff_is_withheld_where_an_edit_would_not_be_read_as_the_change() -> None:
    flow = TEXTS["accelerate"].replace("fsdp_config:\n  # old\n", "fsdp_config: {fsdp_version: 2}\nother:\n")
    assert diff(flow, {"zero": 2}) is None
    assert diff("not a file", {"zero": 2}) is None
    assert diff("torchrun --nproc-per-node 8 t.py", BATCH) is None
    assert diff(TEXTS["axolotl"] + "plugins:\n  - mine\n", {"loss": "chunked:8"}) is None


WORDS = [words for _, words in CASES] + [{"method": "qlora", "base_format": "fp32"}, {"zero": 2}]


@given(
    st.sampled_from([*TEXTS]),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 6), st.text(": #{}[]\"'\n\\-,abz01", max_size=4))),
    st.sampled_from(WORDS),
)
def test_whatever_a_text_has_become_a_diff_of_it_is_the_change_or_none(
    kind: str, damage: list[tuple[int, int, str]], words: dict[str, Any]
) -> None:
    text = TEXTS[kind]
    for at, length, put in damage:
        text = text[:at] + put + text[at + length :]
    after = edited(text, words)
    if after is not None:
        found = understood(after)
        told = {word: value for word, value in words.items() if word not in ("base_format", "micro_batches")}
        if "dp" not in found:
            told.pop("zero", None)  # a text whose count of devices was damaged divides among one
        if kind == "DeepSpeed" and "offload" in told:
            told["offload"] = "gradients"  # which DeepSpeed takes with the optimizer's states
        assert {word: found.get(word) for word in told} == told


def test_advice_for_a_pasted_file_comes_with_its_diff() -> None:
    told = advice(setup(**{**understood(TEXTS["axolotl"]), "gpu": "h200"}))
    diffs = [diff(TEXTS["axolotl"], one) for one in told]
    assert sum(one is not None for one in diffs) >= 3


@pytest.mark.parametrize(
    ("text", "flash", "own"),
    [
        (
            "base_model: gpt2\nmicro_batch_size: 1\neager_attention: true\n",
            "flash_attention: true",
            "sdp_attention: true",
        ),
        ("model_name_or_path: gpt2\nstage: sft\nflash_attn: disabled\n", "flash_attn: fa2", "flash_attn: sdpa"),
        ("python train.py --bf16 --attn_implementation eager", "flash_attention_2", "--attn_implementation sdpa"),
    ],
)
def test_fused_attention_is_asked_for_as_the_chip_has_it(text: str, flash: str, own: str) -> None:
    change = {"attention": "flash"}
    assert flash in str(edited(text, change))
    assert flash in str(edited(text, change, accelerator("h100-sxm")))
    assert own in str(edited(text, change, accelerator("t4")))
    assert flash not in str(edited(text, change, accelerator("t4")))


def test_a_script_without_options_of_adapters_is_given_none() -> None:
    assert edited("torchrun run_clm.py --bf16", {"method": "lora"}) is None
    assert "--use_peft" in str(edited("torchrun -m trl.scripts.sft --bf16", {"method": "lora"}))


@pytest.mark.parametrize(
    "text",
    [
        "base_model: Qwen/Qwen3-8B\nadapter: qlora\nload_in_4bit: true\nmicro_batch_size: 2\neval_batch_size: 8\n",
        "accelerate launch sft.py --model_name_or_path Qwen/Qwen3-8B --use_peft --per_device_eval_batch_size 8 --bf16",
    ],
    ids=("axolotl", "TRL"),
)
def test_how_many_sequences_are_evaluated_at_once_is_written_where_a_file_says_it(text: str) -> None:
    after = edited(text, {"eval_batch": 1})
    assert after is not None
    assert after.replace("size 1", "size 8").replace("size: 1", "size: 8") == text
    assert edited(text.replace("eval_batch_size", "save_steps"), {"eval_batch": 1}) is None


def test_pure_sixteen_bits_take_the_place_of_autocast() -> None:
    """LLaMA-Factory refuses to start where a file asks for both."""
    text = "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: full\nbf16: true\n"
    assert "bf16: false\npure_bf16: true" in str(edited(text, {"precision": "bf16"}))
