"""Commands as people paste them: how many devices, what the trainer is told, what its script does by default."""

from __future__ import annotations

from typing import Any

import pytest

from ironlaw.core.errors import EngineError
from ironlaw.files import parts, read
from ironlaw.files.together import joined
from tests.engine.files.texts import SMI, said


@pytest.mark.parametrize(
    ("command", "facts"),
    [
        ("torchrun --standalone --nproc_per_node=8 train.py", {"devices": 8}),
        ("OMP_NUM_THREADS=1 torchrun --nnodes 2 --nproc-per-node 8 \\\n  train.py", {"devices": 16, "nodes": 2}),
        ("accelerate launch --num_processes 4 train.py", {"devices": 4}),
        ("FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=8 llamafactory-cli train recipe.yaml", {"devices": 16, "nodes": 2}),
        ("deepspeed --include localhost:0,1,3 train.py", {"devices": 3}),
        (
            "deepspeed --num_gpus 8 sft.py --per_device_train_batch_size 2 --max_length 2048 --bf16 True",
            {"devices": 8, "micro_batch": 2, "sequence": 2048, "compute": "bf16"},
        ),
        (
            "torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 4 --num-attention-heads 32 "
            "--pipeline-model-parallel-size 2 --micro-batch-size 1 --seq-length 4096 --bf16 "
            "--use-distributed-optimizer --recompute-granularity full",
            {"devices": 8, "tensor": 4, "pipeline": 2, "micro_batch": 1, "sequence": 4096, "zero": 1,
             "checkpointing": True, "compute": "bf16"},
        ),
    ],
)  # fmt: skip
def test_a_command_says_how_many_devices_and_what_the_trainer_is_told(command: str, facts: dict[str, Any]) -> None:
    assert read(command).kind == "command"
    assert said(command).items() >= facts.items()


LLAMA, QWEN = "meta-llama/Meta-Llama-3-8B", "Qwen/Qwen2.5-0.5B"


@pytest.mark.parametrize(
    ("command", "facts"),
    [
        ("torchrun --nproc_per_node 4 train.py --bf16",
         {"method": "full", "checkpointing": False, "compute": "bf16", "micro_batch": 8}),
        (f"torchrun --nproc_per_node 4 run_clm.py --model_name_or_path {QWEN} --block_size 4096 --fp16 "
         "--deepspeed ds_z3.json",
         {"model": "qwen2.5-0.5b", "sequence": 4096, "compute": "fp16", "method": "full", "devices": 4}),
        (f"torchrun train.py --model_name_or_path {LLAMA} --model_max_length 2048 --per_device_train_batch_size 2 "
         "--gradient_accumulation_steps 8 --gradient_checkpointing True --optim adamw_bnb_8bit",
         {"sequence": 2048, "micro_batch": 2, "accumulate": 8, "checkpointing": True, "optimizer": "adamw-8bit"}),
        ("python train.py --max_seq_length 512 --bf16", {"sequence": 512}),
        ("python train.py --cutoff_len 640 --bf16", {"sequence": 640}),
        ("torchrun run_clm.py --model_name_or_path gpt2 --do_train", {"sequence": 1024, "compute": "fp32"}),
        (f'torchrun --nproc_per_node 8 train.py --model_name_or_path {LLAMA} --fsdp "full_shard auto_wrap"',
         {"zero": 3, "runtime": "fsdp", "method": "full"}),
        ("python train.py --bf16 --lora_enable True --lora_r 64 --bits 4 --lora_target_modules q_proj v_proj",
         {"method": "qlora", "rank": 64, "targets": ("q_proj", "v_proj")}),
        ("python train.py --bf16 --lora_enable False --lora_r 64", {"method": "full"}),
        ("llamafactory-cli train --stage sft --template llama3", {"method": "lora", "sequence": 2048, "rank": 8}),
        ("accelerate launch --use_deepspeed --zero_stage 3 --mixed_precision bf16 --num_processes 8 train.py "
         "--per_device_train_batch_size 1",
         {"zero": 3, "runtime": "deepspeed", "compute": "bf16", "devices": 8, "micro_batch": 1, "method": "full"}),
        ("trl sft --model_name_or_path gpt2 --dataset_name a/b", {"checkpointing": True, "sequence": 1024}),
    ],
    ids=range(12),
)  # fmt: skip
def test_a_command_is_read_with_the_options_and_the_defaults_of_its_script(command: str, facts: dict[str, Any]) -> None:
    assert said(command).items() >= facts.items()


@pytest.mark.parametrize(
    "before",
    [
        "$ ", "% ", "(venv) $ ", "(base) me@mac runs % ", "(venv) me@box:~/runs$ ", "[root@node-1 runs]# ",
        "root@f3a:/workspace# ", "PS C:\\my runs> ", "PS> ", "> ", "+ ", "!", "nohup ", "uv run ", "time ",
        "srun --exclusive -p long ", "$ CUDA_VISIBLE_DEVICES=0,1 srun -n 1 nohup ", "# two cards\n$ ",
    ],
)  # fmt: skip
def test_a_command_is_read_behind_a_prompt_and_the_programs_that_start_it(before: str) -> None:
    command = "torchrun --nproc-per-node 2 run.py --model_name_or_path gpt2 --bf16\n"
    assert read(before + command).facts == read(command).facts


@pytest.mark.parametrize("text", ["- python train.py\n", "# torchrun train.py\n", "see python train.py\n", "$ ls\n"])
def test_a_line_about_a_command_is_none(text: str) -> None:
    with pytest.raises(EngineError, match="of no known kind"):
        read(text)


def test_a_command_goes_on_behind_the_mark_of_its_shell() -> None:
    for mark in ("\\\n", "\\\n> ", "`\n  ", "\\ \r\n"):
        ((_, reading),) = parts(f"$ torchrun {mark}--nproc-per-node 8 {mark}train.py\n")
        assert reading.facts.devices == 8


@pytest.mark.parametrize(
    "options",
    [
        "-N2 --gpus-per-node=8",
        "-N 2 --gres gpu:8",
        "--nodes=1-2 -p long --gpus-per-node=a100:8",
        "--nodes 2 --gres=gpu:h100:8",
    ],
)
def test_the_scheduler_says_it_in_any_of_its_forms(options: str) -> None:
    found = read(f"srun {options} nohup python run.py --model_name_or_path gpt2 --bf16")
    assert (found.facts.devices, found.facts.nodes) == (16, 2)
    assert not any("Not understood" in line for line in found.missing)


def test_a_scripts_own_options_are_none_of_the_schedulers() -> None:
    found = read("torchrun --nproc-per-node 8 run.py --model_name_or_path gpt2 --bf16 -N 100 --nodes 7")
    assert (found.facts.devices, found.facts.nodes) == (8, None)
    assert any("Not understood" in line and "--nodes" in line for line in found.missing)


def test_what_a_shell_puts_in_the_place_of_a_command_goes_on_in_no_other_line() -> None:
    first, second = parts("python train.py --model_name_or_path gpt2 --run_name `date`\npython eval.py --bf16\n")
    assert first[1].facts.model == "gpt2"
    assert second[0].startswith("python eval.py")


def test_the_scheduler_says_how_many_machines_and_the_cards_of_each() -> None:
    assert read("srun --nodes=2 --gpus-per-node 8 python train.py").facts.devices == 16
    inside = read("srun -N 2 --gpus-per-node=4 torchrun --nnodes 2 --nproc-per-node 8 train.py")
    assert inside.facts.devices == 16
    assert not any("gpus_per_node" in line for line in inside.missing)


def test_a_command_counts_before_the_table_of_one_machine() -> None:
    table = read(SMI)
    assert joined((table,)).facts.devices == table.facts.devices != 16
    assert joined((table, read("torchrun --nnodes 2 --nproc-per-node 8 train.py"))).facts.devices == 16


def test_what_a_command_leaves_open_is_known_as_such() -> None:
    reading = read(f"torchrun --nproc_per_node 4 train.py --model_name_or_path {LLAMA} --bf16")
    assert reading.silent == {"method", "checkpointing", "micro_batch"}
    assert read("torchrun train.py --model_name_or_path gpt2 --use_lora False --bf16").silent.isdisjoint({"method"})
    # Where a file says the rest, the defaults of the program say nothing.
    for other in ("accelerate launch sft.py --config recipe.yaml --bf16", "trl sft recipe.yml --bf16"):
        assert read(other).silent == frozenset()
        assert "method" not in said(other)
        assert [line for line in read(other).missing if "add that file too" in line]
    assert not read("torchrun --nproc_per_node 4 train.py").facts.method


def test_clipping_that_accelerate_is_told_is_understood() -> None:
    text = "accelerate launch --use_deepspeed --zero_stage 3 --gradient_clipping 1.0 sft.py --bf16 --max_length 512"
    assert not read(text).missing


def test_options_that_were_not_understood_are_told_by_name_and_never_with_a_value() -> None:
    start = "torchrun --nproc_per_node 4 --master_port 29500 train.py --bf16 --output_dir /secret/out --lr_scheduler x"
    assert not read(f"{start} --learning_rate 2e-5 --warmup_ratio 0.03 --save_steps 100").missing
    (told,) = read(f"{start} --ring-attention secret --mystery=secret").missing
    assert told == "Not understood of the command, and not counted: --ring_attention, --mystery."
    (told,) = read(f"{start} {' '.join(f'--odd{chr(97 + n)} secret' for n in range(9))} --hf_SeCReT 1").missing
    assert told.endswith("--odda, --oddb, --oddc, --oddd and 6 more.")
    script = read("torchrun --nproc_per_node 4 train.py --dim 512")
    assert script.missing[-1] == "Not understood of the command, and not counted: --dim."


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("shell", ["srun -N 2 bash -c", "bash -lc", "sh -c"])
def test_a_command_that_a_shell_is_given_in_quotes_is_read(shell: str, quote: str) -> None:
    inside = "torchrun --nproc_per_node 8 \\\n  train.py --model_name_or_path gpt2 --bf16"
    ((_, found),) = parts(f"#!/bin/bash\n#SBATCH --time=1:00\n{shell} {quote}{inside}{quote}\n")
    assert (found.kind, found.facts.compute) == ("command", "bf16")
    assert found.facts.devices == (16 if "-N 2" in shell else 8)
