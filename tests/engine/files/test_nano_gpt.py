"""nanoGPT's settings, commands and logs: what they say together, and what is not its own."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ironlaw.core.errors import EngineError
from ironlaw.files import Facts, read
from ironlaw.files.words import words_of

GPT2 = """# comment: 12 batch size * 1024 block size * 5 gradaccum * 8 GPUs = 491,520
wandb_log = True
batch_size = 12
block_size = 1024
gradient_accumulation_steps = 5 * 8
max_iters = 600000
"""
"""nanoGPT, config/train_gpt2.py."""


BABY = """out_dir = 'out-shakespeare-char'
eval_iters = 200
gradient_accumulation_steps = 1
batch_size = 64
block_size = 256 # context of up to 256 previous characters
n_layer = 6
n_head = 6
n_embd = 384
dropout = 0.2
max_iters = 5000
# compile = True # do not torch compile the model
"""
"""nanoGPT, config/train_shakespeare_char.py."""


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([GPT2], {"model": "gpt2", "batch": 12, "sequence": 1024, "accumulate": 40}),
        ([GPT2, "torchrun --standalone --nproc_per_node=8 train.py config/train_gpt2.py"], {"accumulate": 5, "dp": 8}),
        (["torchrun --nproc_per_node=8 train.py config/train_gpt2.py"],
         {"model": "gpt2", "batch": 12, "sequence": 1024, "accumulate": 5, "dp": 8, "precision": "amp-bf16",
          "checkpointing": "none", "execution": "compiled", "update": "fused", "optimizer": "adamw"}),
        (["torchrun --nproc_per_node=8 train.py config/train_gpt2.py --batch_size=16 --block_size=512 "
          "--gradient_accumulation_steps=16 --dtype=float16 --compile=False"],
         {"batch": 16, "sequence": 512, "accumulate": 2, "precision": "amp-fp16"}),
        (["python train.py --batch_size=32 --n_layer=24 --n_head=16 --n_embd=1024"],
         {"model": "gpt2-medium", "batch": 32, "accumulate": 40}),
        (["python train.py --init_from=gpt2-xl --batch_size=2"], {"model": "gpt2-xl", "batch": 2}),
        # Options override the file, whatever of both is first.
        ([GPT2, "python train.py config/train_gpt2.py --batch_size=4"], {"batch": 4, "accumulate": 40}),
        (["python train.py config/mine.py --batch_size=4", GPT2], {"batch": 4, "sequence": 1024}),
        ([f"{GPT2}Overriding: batch_size = 8\niter 10: loss 3.2202, time 893.76ms, mfu 16.68%\n"], {"batch": 8}),
    ],
    ids=range(9),
)  # fmt: skip
def test_nanogpts_file_command_and_log_say_what_it_trains(texts: list[str], expected: dict[str, Any]) -> None:
    understood = words_of(map(read, texts), {"gpu": "a100-80"})
    assert {name: understood.words[name] for name in expected} == expected
    assert understood.words["method"] == "full"
    assert not understood.missing


def test_nanogpts_other_sizes_are_a_configuration_of_gpt2() -> None:
    words = words_of([read(BABY)], {"gpu": "rtx-4090"}).words
    assert (words["model"].layers, words["model"].hidden, words["model"].dropouts.attention) == (6, 384, 0.2)
    assert (words["batch"], words["sequence"], words["accumulate"], words["precision"]) == (64, 256, 1, "amp-bf16")
    assert "50,304 entries" in read(BABY).missing[0]
    named = read("torchrun --nproc_per_node=8 train.py config/mine.py")
    assert "add that file too" in named.missing[0]
    assert named.facts == Facts(devices=8)


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ([GPT2, "torchrun --nproc_per_node=7 train.py config/train_gpt2.py"], "a divisor of 40"),
        ([GPT2.replace("= 12", "= many")], "batch_size 'many' is not allowed"),
        ([f"{GPT2}dtype = 'fp8'\n"], "dtype 'fp8' is unknown"),
    ],
)
def test_what_nanogpt_would_refuse_is_refused_in_a_line(texts: list[str], told: str) -> None:
    with pytest.raises(EngineError, match=re.escape(told)):
        words_of(map(read, texts), {"gpu": "a100-80"})


@pytest.mark.parametrize("text", ["python train.py --batch_size=8", "torchrun run_clm.py --block_size 512 --bf16"])
def test_other_scripts_are_not_nanogpts(text: str) -> None:
    assert read(text).facts.compiled is None


@pytest.mark.parametrize(
    "other",
    ["model_name='mistralai/Mistral-7B-v0.1'\n", "lora_r = 8\n", "stoi = { ch: i for i, ch in enumerate(chars) }\n"],
)
def test_settings_of_other_programs_are_not_nanogpts(other: str) -> None:
    settings = "batch_size = 4\nblock_size = 1024\nmax_iters = 100\nlearning_rate = 3e-4\n"
    assert read(settings).kind == "nanoGPT"
    with pytest.raises(EngineError, match="of no known kind"):
        read(settings + other)
    option = other.replace(" ", "")
    assert read(f"python train.py --batch_size=4 --block_size=9 --{option}").facts.compiled is None
