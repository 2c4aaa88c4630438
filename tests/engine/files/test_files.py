"""Configurations, commands, messages and logs as people paste them: each says what it says, and leaves nothing behind.

The lines are those of public threads and of the programs' own examples; each test names where they stand.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from ironlaw import model
from ironlaw.core.errors import EngineError
from ironlaw.files import Facts, parts, read
from ironlaw.files.diffs import edited
from ironlaw.files.words import words_of

GIB, MIB = 2**30, 2**20


def said(text: str) -> dict[str, object]:
    return read(text).facts.said()


# axolotl, examples/llama-3/qlora-fsdp-70b.yaml, without the keys that say nothing of memory or time.
AXOLOTL_QLORA = """\
base_model: casperhansen/llama-3-70b-fp16
load_in_8bit: false
load_in_4bit: true
adapter: qlora
sequence_len: 512
sample_packing: false
lora_r: 8
lora_dropout: 0.05
lora_target_modules:
lora_target_linear: true
gradient_accumulation_steps: 4
micro_batch_size: 1
num_epochs: 4
optimizer: adamw_torch
bf16: auto
fp16:
gradient_checkpointing: true
gradient_checkpointing_kwargs:
  use_reentrant: true
flash_attention: true
fsdp:
  - full_shard
  - auto_wrap
fsdp_config:
  fsdp_offload_params: true
  fsdp_sharding_strategy: FULL_SHARD
"""


def test_axolotl_trains_an_adapter_over_four_bits_divided_by_fsdp() -> None:
    assert read(AXOLOTL_QLORA).kind == "axolotl"
    assert said(AXOLOTL_QLORA) == {
        "model": "llama3-70b",
        "unprepared": True,
        "micro_batch": 1,
        "accumulate": 4,
        "sequence": 512,
        "packing": False,
        "stage": "sft",
        "method": "qlora",
        "rank": 8,
        "targets": ("all-linear",),
        "weights": "auto",
        "compute": "auto",
        "optimizer": "adamw",
        "attention": "flash",
        "checkpointing": True,
        "reentrant": True,
        "fused_loss": False,
        "zero": 3,
        "offload_optimizer": True,
        "offload_parameters": True,
        "runtime": "fsdp",
        "epochs": 4.0,
    }


def test_axolotl_trains_all_weights_with_a_fused_loss() -> None:
    # axolotl, examples/llama-3/fft-8b-liger-fsdp.yaml.
    found = said(
        "base_model: NousResearch/Meta-Llama-3.1-8B\nliger_fused_linear_cross_entropy: true\nsequence_len: 4096\n"
        "sample_packing: true\ngradient_accumulation_steps: 4\nmicro_batch_size: 2\noptimizer: adamw_torch_fused\n"
        "bf16: auto\ngradient_checkpointing: true\nattention: flash\n"
    )
    assert found["model"] == "llama3.1-8b"
    assert (found["method"], found["weights"], found["update"], found["fused_loss"]) == ("full", "auto", "fused", True)
    assert "rank" not in found


@pytest.mark.parametrize(
    ("said_of_it", "compute"),
    [("", "auto"), ("bf16: auto\n", "auto"), ("bf16: false\n", "fp32"), ("fp16: true\n", "fp16")],
)
def test_axolotl_computes_in_16_bits_where_it_is_not_told_otherwise(said_of_it: str, compute: str) -> None:
    # axolotl, `bf16` of its configuration: "auto" where it is left out.
    file = "base_model: Qwen/Qwen2.5-7B\nsequence_len: 4096\nmicro_batch_size: 2\nlearning_rate: 2e-5\n"
    assert said(file + said_of_it)["compute"] == compute


def test_llama_factory_recomputes_and_keeps_trained_weights_in_fp32_unless_told_otherwise() -> None:
    # LLaMA-Factory, examples/train_lora/qwen3_lora_sft_ds3.yaml.
    lora = (
        "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nstage: sft\nfinetuning_type: lora\nlora_rank: 8\n"
        "lora_target: all\n"
        "deepspeed: examples/deepspeed/ds_z3_config.json  # choices: [ds_z0_config.json]\ntemplate: qwen\n"
        "cutoff_len: 2048\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 2\nbf16: true\n"
    )
    reading = read(lora)
    assert reading.kind == "LLaMA-Factory"
    assert reading.facts.said().items() >= {
        "model": "qwen2.5-7b", "method": "lora", "rank": 8, "targets": ("all-linear",), "checkpointing": True,
        "sequence": 2048, "micro_batch": 1, "accumulate": 2, "compute": "bf16",
    }.items()  # fmt: skip
    assert reading.missing == ("It names a DeepSpeed file, which says what is divided: add that file too.",)
    full = said(lora.replace("finetuning_type: lora", "finetuning_type: full"))
    assert (full["weights"], full["compute"]) == ("fp32", "bf16")
    assert said(lora + "quantization_bit: 4\n")["method"] == "qlora"


def test_trl_recomputes_cuts_at_1024_and_computes_in_bf16_when_its_file_is_silent() -> None:
    # The defaults that `SFTConfig` documents as differing from `TrainingArguments`.
    found = said("model_name_or_path: meta-llama/Llama-3.1-8B\ndataset_name: timdettmers/openassistant-guanaco\n")
    assert (found["sequence"], found["checkpointing"], found["compute"]) == (1024, True, "bf16")
    assert said("dataset_name: a/b\nmax_length: 4096\ngradient_checkpointing: false\n")["sequence"] == 4096


def test_a_deepspeed_file_says_what_is_divided_and_auto_says_nothing() -> None:
    text = json.dumps(
        {
            "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"},
                                  "offload_param": {"device": "none"}},
            "bf16": {"enabled": True}, "fp16": {"enabled": "auto"},
            "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 8,
        }
    )  # fmt: skip
    assert said(text) == {
        "zero": 3, "offload_optimizer": True, "offload_parameters": False, "runtime": "deepspeed", "compute": "bf16",
        "accumulate": 8,
    }  # fmt: skip


def test_an_accelerate_file_says_how_many_processes_divide_what() -> None:
    text = (
        "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 2\n"
        "num_processes: 16\nfsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n  fsdp_offload_params: false\n"
    )
    found = said(text)
    assert (found["devices"], found["nodes"], found["zero"], found["runtime"]) == (16, 2, 2, "fsdp")


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


def test_options_that_were_not_understood_are_told_by_name_and_never_with_a_value() -> None:
    start = "torchrun --nproc_per_node 4 --master_port 29500 train.py --bf16 --output_dir /secret/out --lr_scheduler x"
    assert not read(f"{start} --learning_rate 2e-5 --warmup_ratio 0.03 --save_steps 100").missing
    (told,) = read(f"{start} --ring-attention secret --mystery=secret").missing
    assert told == "Not understood of the command, and not counted: --ring_attention, --mystery."
    (told,) = read(f"{start} {' '.join(f'--odd{chr(97 + n)} secret' for n in range(9))} --hf_SeCReT 1").missing
    assert told.endswith("--odda, --oddb, --oddc, --oddd and 6 more.")
    script = read("torchrun --nproc_per_node 4 train.py --dim 512")
    assert script.missing[-1] == "Not understood of the command, and not counted: --dim."


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("base_model: gpt2\nmicro_batch_size: 1\n", "full"),
        ("model_name_or_path: gpt2\nper_device_train_batch_size: 1\ndataset_name: a/b\n", "full"),
        ("model_name_or_path: gpt2\nblock_size: 512\nper_device_train_batch_size: 1\n", "full"),
        ("model_name_or_path: gpt2\ncutoff_len: 512\ntemplate: qwen\n", "lora"),
    ],
)
def test_a_file_without_a_word_of_adapters_trains_what_its_program_trains_by_default(text: str, method: str) -> None:
    reading = read(text)
    assert (reading.facts.method, "method" in reading.silent) == (method, True)


def test_both_wordings_of_an_out_of_memory_message_are_read() -> None:
    # lm-sys/FastChat #2701 and andimarafioti/florence2-finetuning #17.
    older = read(
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB (GPU 1; 79.10 GiB total capacity; "
        "76.13 GiB \nalready allocated; 290.12 MiB free; 77.47 GiB reserved in total by PyTorch) If reserved memory"
    )
    assert older.measured is not None
    assert older.facts.gpu_memory == round(79.10 * GIB)
    assert (older.measured.asked, older.measured.allocated) == (1.25 * GIB, round(76.13 * GIB))
    assert older.measured.reserved == round(77.47 * GIB)
    newer = read(
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 108.00 MiB. GPU 0 has a total capacty of 15.89 GiB of "
        "which 65.12 MiB is free. Process 2670 has 15.82 GiB memory in use. Of the allocated memory 15.36 GiB is "
        "allocated by PyTorch, and 168.02 MiB is reserved by PyTorch but unallocated."
    )
    assert newer.measured is not None
    assert newer.facts.gpu_memory == round(15.89 * GIB)
    assert newer.measured.allocated == round(15.36 * GIB)
    assert newer.measured.reserved == round(15.36 * GIB) + round(168.02 * MIB)
    assert newer.measured.process == round(15.82 * GIB)


def test_the_process_that_failed_is_told_from_others() -> None:
    others = "Process 12345 has 20.00 GiB memory in use. "
    own = "Including non-PyTorch memory, this process has 58.59 GiB memory in use. "
    for in_use in (others + own, own + others, others + "Process 2670 has 58.59 GiB memory in use. "):
        said = (
            f"Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.00 MiB is free. {in_use}"
        )
        measured = read(f"OutOfMemoryError: CUDA out of memory. {said}").measured
        assert measured is not None
        assert measured.process == round(58.59 * GIB)


# Oneflow-Inc/libai #528.
SMI = """\
| NVIDIA-SMI 535.146.02             Driver Version: 535.146.02   CUDA Version: 12.2     |
|=========================================+======================+======================|
|   0  NVIDIA A100-PCIE-40GB          Off | 00000000:3D:00.0 Off |                    0 |
| N/A   32C    P0              86W / 250W |  13187MiB / 40960MiB |     99%      Default |
|                                         |                      |             Disabled |
+-----------------------------------------+----------------------+----------------------+
|   1  NVIDIA A100-PCIE-40GB          Off | 00000000:3E:00.0 Off |                    0 |
| N/A   32C    P0              73W / 250W |  10222MiB / 40960MiB |     97%      Default |
"""


def test_a_table_of_gpus_says_which_how_many_and_what_is_in_use() -> None:
    reading = read(SMI)
    assert reading.facts == Facts(gpu="a100-40-pcie", gpu_memory=40960 * MIB, devices=2)
    assert reading.measured is not None
    assert reading.measured.process == 13187 * MIB


PROCESSES = """\
+---------------------------------------------------------------------------------------+
|  GPU   GI   CI        PID   Type   Process name                            GPU Memory |
|=======================================================================================|
|    0   N/A  N/A      1201      G   /usr/lib/xorg/Xorg                          412MiB |
|    0   N/A  N/A      9001      C   vllm                                       6120MiB |
|    0   N/A  N/A     14250      C   .../envs/train/bin/python                  6600MiB |
"""


def test_what_other_programs_have_is_not_the_trainings() -> None:
    reading = read(SMI + PROCESSES)
    assert reading.measured is not None
    assert (reading.measured.process, reading.measured.in_use) == (6600 * MIB, 13187 * MIB)
    assert reading.missing == (
        "Compared is the process that trains, 6.9 GB; 6.9 GB of the fullest card are other programs'.",
    )
    alone = read(SMI + PROCESSES.replace(".../envs/train/bin/python", "a.out                    "))
    assert alone.measured is not None
    assert alone.measured.process == 6600 * MIB


EIGHT = "| NVIDIA-SMI 535.146.02   Driver Version: 535.146.02   CUDA Version: 12.2 |\n" + "".join(
    f"|   {card}  NVIDIA H100 80GB HBM3          On  | 00000000:{card}D:00.0 Off |          0 |\n"
    f"| N/A   32C    P0              86W / 700W |  {used:>6}MiB / 81559MiB |     {busy:>3}%      Default |\n"
    for card, (used, busy) in enumerate(((61234, 98), (61230, 97), *[(4, 0)] * 6))
)


@pytest.mark.parametrize(
    ("text", "devices", "told"),
    [
        (EIGHT, 2, ["8 cards, 6 idle: counted are the 2 on which something runs."]),
        # A process that waits for another computes nothing at the moment.
        (EIGHT.replace(" 98%", "  0%").replace(" 97%", "  0%"), 2, ["8 cards, 6 idle: counted are the 2"]),
        (f"{EIGHT}|    7   N/A  N/A     14250      C   python3                500MiB |\n", 3, ["8 cards, 5 idle"]),
        (f"{EIGHT}|    7   N/A  N/A      1201      G   /usr/lib/xorg/Xorg      12MiB |\n", 2, ["8 cards, 6 idle"]),
        # In a container no process is listed.
        (EIGHT.replace("  0%", " 35%"), 8, []),
        (EIGHT.replace("  0%", " N/A"), 2, ["8 cards, 6 idle"]),
        # Where nothing runs a reader shows what he has.
        (re.sub(r"612..MiB", "    4MiB", re.sub("9.%", " 0%", EIGHT)), 8, []),
        # Another card drives a display.
        (EIGHT.replace("  7  NVIDIA H100 80GB HBM3", "  7  NVIDIA GeForce RTX 4060"), 2, ["8 cards, 6 idle"]),
    ],
    ids=range(8),
)  # fmt: skip
def test_cards_on_which_nothing_runs_are_told_apart(text: str, devices: int, told: list[str]) -> None:
    reading = read(text)
    assert (reading.facts.devices, reading.facts.gpu) == (devices, "h100-sxm")
    assert [one.startswith(said) for one, said in zip(reading.missing, told, strict=False)] == [True] * len(told)
    assert len([one for one in reading.missing if "idle" in one]) == len(told)


def test_a_cut_name_of_a_gpu_is_told_with_those_that_it_could_be() -> None:
    cut = read(SMI.replace("NVIDIA A100-PCIE-40GB", "NVIDIA A100-SXM...   "))
    assert cut.facts.gpu is None
    assert cut.missing == ("By its name the GPU is NVIDIA A100-SXM4-40GB or NVIDIA A100-SXM4-80GB: choose it.",)
    unknown = read(SMI.replace("NVIDIA A100-PCIE-40GB", "NVIDIA Q100-PCIE-40GB"))
    assert unknown.missing == ("By its name the GPU is none that the planner knows: choose it.",)


NEEDS = """Estimated memory needed for params, optim states and gradients for a:
HW: Setup with {nodes}, 4 GPUs per node.
SW: Model with 1314M total params, 128M largest layer params.
  per CPU  |  per GPU |   Options
   33.06GB |   0.48GB | offload_param=cpu , offload_optimizer=cpu , zero_init=1
   33.06GB |   2.93GB | offload_param=none, offload_optimizer=cpu , zero_init=0
"""
"""What DeepSpeed's `estimate_zero3_model_states_mem_needs_all_live` prints."""


@pytest.mark.parametrize(("nodes", "devices"), [("1 node", 4), ("2 nodes", 8)])
def test_deepspeeds_table_of_needs_gives_its_gpus_and_is_told_what_it_counts(nodes: str, devices: int) -> None:
    reading = read(NEEDS.format(nodes=nodes))
    assert reading.kind == "DeepSpeed's table"
    assert reading.facts == Facts(devices=devices, nodes=int(nodes[0]))
    assert "weights, gradients, optimizer states: no activations, logits, temporary tensors" in reading.missing[0]


LOGS: dict[str, str] = json.loads(Path(__file__).with_name("logs.json").read_text("utf-8"))
"""Lines of karpathy/nanoGPT #178, #466; karpathy/llm.c #796; pytorch/torchtitan #2389; NVIDIA/Megatron-LM #756;
axolotl-ai-cloud/axolotl #3196, #592; saforem2/ezpz, docs/examples/hf-trainer/comparison.md (24 devices). The browser
tests paste the same."""
MEASURED: dict[str, dict[str, Any]] = {
    "nanoGPT": {"step_s": 0.89419, "mfu": 0.16675, "lines": 4},
    "llm.c": {"step_s": 0.04458, "tokens_per_s": 91886, "mfu": None},
    "torchtitan": {"tokens_per_s_device": 10050, "mfu": 0.1399, "reserved": round(66.91 * GIB)},
    "Megatron-LM": {"step_s": 5.4106, "allocated": round(54250.98583984375 * MIB), "reserved": 61480 * MIB},
    "axolotl": {"step_s": 5.35, "allocated": round(34.89 * GIB), "reserved": round(41.26 * GIB)},
    # The last line counts the tokens of one of 24 processes, and has the time of saving in it.
    "transformers": {"step_s": 1 / 0.334, "tokens_per_s": 78016.894, "tokens_per_s_device": 2737.984},
}


@pytest.mark.parametrize("program", LOGS)
def test_the_log_of_each_program_gives_its_times_and_bytes(program: str) -> None:
    measured = read(LOGS[program]).measured
    assert measured is not None
    assert measured.program == program
    found = asdict(measured)
    for name, value in MEASURED[program].items():
        assert found[name] == (None if value is None else pytest.approx(value)), name


@pytest.mark.parametrize(
    ("line", "step", "speed"),
    [
        ("step 100 | loss 2.1 | 1,250 ms | 26k tok/s", 1.25, 26_000),
        ("step   61/74 | loss 3.2 (+nanz)| lr 3.00e-04 | 19,250.33 ms | 33.5% bf16 MFU | 1,702 tok/s", 19.25033, 1702),
        ("step 7/74 | loss 3.2 | 19250.33 ms | 1.7K tok/s", 19.25033, 1700),
    ],
)
def test_thousands_are_read_with_commas_and_with_a_k(line: str, step: float, speed: float) -> None:
    measured = read(line).measured
    assert measured is not None
    assert measured.step_s == pytest.approx(step)
    assert measured.tokens_per_s == pytest.approx(speed)


def test_the_batch_of_a_megatron_log_is_a_fact() -> None:
    assert said(LOGS["Megatron-LM"]) == {"global_batch": 128}


def test_two_files_complete_each_other_and_a_contradiction_is_named() -> None:
    run, division = read(AXOLOTL_QLORA).facts, Facts(devices=8, nodes=1)
    assert run.joined(division).devices == 8
    with pytest.raises(EngineError, match=r"^zero 2 is not allowed, as another file says, .*; allowed: 3"):
        run.joined(Facts(zero=2))


def test_nothing_of_a_text_travels_on_but_numbers_and_known_names() -> None:
    secret = "hf_SECRETabcdef"
    texts = (
        AXOLOTL_QLORA + f"output_dir: /home/ann/{secret}\nhub_token: {secret}\ndataset_prepared_path: {secret}\n",
        AXOLOTL_QLORA.replace("casperhansen/llama-3-70b-fp16", f"/data/{secret}/model"),
        f"torchrun --nproc_per_node 8 /home/{secret}/train.py --token {secret} --max_length 512",
        f"{secret} {LOGS['nanoGPT']} {secret}",
        SMI + f"|    0   N/A  N/A      1234      C   /home/{secret}/python   13000MiB |",
    )
    for text in texts:
        assert secret not in repr(read(text))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "of no known kind"),
        ("CUDA out of memory", "the message about memory needs its sizes"),
        (
            "base_model: a/b\nadapter: qlora\nload_in_8bit: true\n",
            "load_in_8bit True is not allowed with adapter qlora",
        ),
        ("hello", "of no known kind"),
        ("{}", "of no known kind"),
        (
            "base_model: a/b\n  adapter: lora\nmicro_batch_size: 2\n",
            "broken YAML: in line 2, column 10, mapping values",
        ),
        (
            "distributed_type: FSDP\nfsdp_config:\n    a: 1\n  b: 2\n",
            "broken YAML: in line 4, column 3, expected <block",
        ),
        ("hello:\n  to: you\n and: me\n", "of no known kind"),
        ("{" * 100_000, "this is broken JSON: in line 1, column 2, a name in double quotes is expected"),
        ('{\n  "hidden_size": 4096\n  "heads": 32}', "broken JSON: in line 3, column 3, a comma or a closing bracket"),
        ('{"zero_optimization": {"stage": 3}', "broken JSON: in line 1, column 35, a comma or a closing bracket"),
        ('{"a": "b\n}', "broken JSON: in line 1, column 9, a text goes over the end of its line"),
        ('{"a": }', "broken JSON: in line 1, column 7, a value is expected"),
        ('{"a" 1}', "broken JSON: in line 1, column 6, a colon is expected"),
        ('{"model_type": "llama"}}', "broken JSON: in line 1, column 24, the end of the text is expected"),
        ('{"a": "b', "broken JSON: in line 1, column 7, a text begins whose closing quotation mark is missing"),
        ("micro_batch_size: &a 1\nsequence_len: *a\n", "YAML '*a' is not allowed; it must be without aliases"),
        (
            "micro_batch_size: 1\nmicro_batch_size: 2\n",
            "key 'micro_batch_size' is not allowed; it must be written once",
        ),
        ('{"zero_optimization": {"stage": 3}, "zero_optimization": {}}', "written once"),
        ("micro_batch_size: -1\n", "micro_batch_size -1 is not allowed; it must be a whole number of at least 1"),
        ("micro_batch_size: 1\noptimizer: adamx\n", "optimizer 'adamx' is unknown"),
        ("micro_batch_size: 1\ngradient_checkpointing: maybe\n", "allowed: true, false"),
        ("adapter: lora\nmicro_batch_size: 1\nlora_target_modules: ['../../etc']\n", "names of modules"),
        ('{"zero_optimization": {"stage": 7}}', "allowed: 0, 1, 2, 3"),
        ("torchrun --nproc_per_node x train.py", "nproc-per-node 'x' is not allowed"),
        ("torchrun 'train.py", "with pairs of quotation marks"),
        ("!!python/object/apply:os.system ['ls']\nmicro_batch_size: 1", "broken YAML: in line 2, column 1, expected"),
    ],
)
def test_a_text_that_says_nothing_or_too_much_is_refused_in_one_line(text: str, told: str) -> None:
    with pytest.raises(EngineError) as refused:
        read(text)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("switches", "recomputes", "told"),
    [
        ("", True, ""),
        ("gradient_checkpointing: true\n", True, ""),
        ("gradient_checkpointing: false\n", True, "gradient_checkpointing: false counts for nothing"),
        ("disable_gradient_checkpointing: true\n", False, ""),
        ("disable_gradient_checkpointing: true\ngradient_checkpointing: false\n", False, ""),
        ("disable_gradient_checkpointing: true\ngradient_checkpointing: true\n", True,
         "disable_gradient_checkpointing: true counts for nothing"),
        ("disable_gradient_checkpointing: false\ngradient_checkpointing: true\n", True, ""),
    ],
)  # fmt: skip
def test_llama_factory_recomputes_by_either_of_two_switches(switches: str, recomputes: bool, told: str) -> None:
    """Its own (`model_utils/checkpointing.py`) and Trainer's, which only ever switches on; who asks is not silent."""
    text = f"model_name_or_path: Qwen/Qwen2.5-0.5B\nstage: sft\nfinetuning_type: full\nbf16: true\n{switches}"
    reading = read(text)
    assert reading.facts.checkpointing is recomputes
    said_so = "disable" in switches or "checkpointing: true" in switches
    assert ("checkpointing" in reading.silent) is not said_so
    assert [line for line in reading.missing if "counts for nothing" in line] == [
        line for line in reading.missing if told and line.startswith(told)
    ]
    assert bool(told) is any("counts for nothing" in line for line in reading.missing)
    for value in ("none", "full"):
        after = edited(text, {"checkpointing": value})
        assert after is not None
        assert read(after).facts.checkpointing is (value == "full")


OUT_OF_MEMORY = """Traceback (most recent call last):
  File "train.py", line 3, in <module>
RuntimeError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 23.65 GiB.
"""


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (OUT_OF_MEMORY + AXOLOTL_QLORA, ["out of memory", "axolotl"]),
        (AXOLOTL_QLORA + "\n" + OUT_OF_MEMORY, ["out of memory", "axolotl"]),
        (f"```yaml\n{AXOLOTL_QLORA}```\n{OUT_OF_MEMORY}torchrun --nproc-per-node 8 \\\n  train.py\n",
         ["out of memory", "axolotl", "command"]),
        ('{\n "zero_optimization": {\n  "stage": 3\n}\n}\n---\n' + AXOLOTL_QLORA, ["DeepSpeed", "axolotl"]),
        (f"my card is too small\n{AXOLOTL_QLORA}", ["axolotl"]),
        (f"# mine\n\n{AXOLOTL_QLORA}", ["axolotl"]),
        (OUT_OF_MEMORY, ["out of memory"]),
        (OUT_OF_MEMORY + "colour: red\nsize: 3\n", ["out of memory"]),
    ],
    ids=range(8),
)  # fmt: skip
def test_every_part_of_a_paste_is_read_or_said_not_to_be(text: str, kinds: list[str]) -> None:
    found = parts(text)
    assert [reading.kind for _, reading in found] == kinds
    for part, reading in found:
        if reading.kind == "axolotl":
            assert reading.facts == read(AXOLOTL_QLORA).facts
            assert "Tried" not in part
    unread = "too small" in text or "colour" in text
    assert any("read" in line for _, reading in found for line in reading.missing) == unread


SHARDS = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 8\n"


@pytest.mark.parametrize(
    ("broken", "line", "why"),
    [
        ("distributed_type: FSDP\nnum_processes: [8\n", 3, "this is broken YAML: in line 6, column 1, expected"),
        ("# comment\nsequence_len: 1\n bad: 1\n", 3, "this is broken YAML: in line 6, column 5, mapping values"),
        ('{\n "zero_optimization": {"stage": 3,,}}\n', 3, "this is broken JSON: in line 5, column"),
        ("colour: red\nsize: [3\n", 3, "this text is of no known kind"),
        ("my card is too small\n", 3, "this text is of no known kind"),
    ],
)
@pytest.mark.parametrize("log", ["", OUT_OF_MEMORY])
def test_a_broken_part_of_a_paste_is_named_with_its_line_and_the_good_ones_are_kept(
    broken: str, line: int, why: str, log: str
) -> None:
    """What is around a message may be anything; there a part is named that was meant as a document."""
    named = "broken" in why or not log
    good = "base_model: Qwen/Qwen2.5-0.5B\nmicro_batch_size: 2\n"
    for text, behind in (
        (f"{good}---\n{broken}---\n{log}", 1),
        (f"{good}---\r\n{broken}---\n{SHARDS}---\n{log}", 1),
        (f"{log}---\n{good}---\n{broken}", 1 + log.count("\n") + 1),
        (f"{broken}---\n{log}---\n{SHARDS}---\n{good}", -2),
    ):
        found = parts(text)
        kinds = {reading.kind for _, reading in found}
        expected = {"axolotl", *(["accelerate"] if SHARDS in text else []), *(["out of memory"] if log else [])}
        assert kinds == expected
        told = [one for _, reading in found for one in reading.missing if "the text was not read" in one]
        at = int(re.search(r"line (\d+)", why)[1]) if "line" in why else 0  # type: ignore[index]
        shifted = why.replace(f"line {at}", f"line {at + behind - 1}") if at else why
        head = f"A part of the text was not read, from its line {line + behind} on: {shifted}"
        assert [one.startswith(head) for one in told] == ([True] if named else []), (told, head)
        # A model by name answers what asks for a config.json, and nothing else.
        assert set(told) <= set(words_of((reading for _, reading in found), {"gpu": "t4"}).missing)


def test_axolotls_qlora_is_over_four_bits_whether_or_not_its_file_says_so() -> None:
    silent = AXOLOTL_QLORA.replace("load_in_4bit: true\n", "")
    assert read(silent).facts == read(AXOLOTL_QLORA).facts
    assert [line for line in read(silent).missing if "load_in_4bit: true" in line]
    assert not [line for line in read(AXOLOTL_QLORA).missing if "load_in_4bit" in line]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("meta-llama/Llama-3.1-8B", "llama3.1-8b"),
        (" meta-llama/Llama-3.1-70B\n", "llama3.1-70b"),
        ("gpt2", "gpt2"),
        ("https://huggingface.co/Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("huggingface.co/Qwen/Qwen3-8B/tree/main?download=true#readme", "Qwen/Qwen3-8B"),
        ("https://hf.co/openai-community/gpt2/", "openai-community/gpt2"),
    ],
)
def test_a_bare_name_or_address_of_the_hub_is_the_model(text: str, expected: str) -> None:
    found = read(text)
    assert found.kind == "name"
    assert found.facts.model is not None
    assert model(found.facts.model).parameters == model(expected).parameters


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("https://huggingface.co/somelab/Wonder-9B", "somelab/Wonder-9B is no model that the planner knows by name"),
        ("somelab/Wonder-9B", "paste its config.json"),
        ("hello", "of no known kind"),
        ("/home/somebody/llama", "of no known kind"),
        ("https://example.org/meta-llama/Llama-3.1-8B", "of no known kind"),
    ],
)
def test_a_name_that_nobody_knows_is_refused_in_a_line(text: str, why: str) -> None:
    with pytest.raises(EngineError, match=why):
        read(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("base_model: gpt2\nmicro_batch_size: 2\neval_batch_size: 16\n", (16, None)),
        ("base_model: gpt2\nmicro_batch_size: 2\neval_batch_size: 2\neval_accumulation_steps: 4\n", (2, 4)),
        ("torchrun train.py --bf16 --per_device_eval_batch_size 64", (64, None)),
        ("finetuning_type: lora\nper_device_eval_batch_size: 1\neval_accumulation_steps: 9\n"
         "prediction_loss_only: true\n", (1, None)),
        ("base_model: gpt2\nmicro_batch_size: 2\n", (None, None)),
        # Without a number transformers takes 8, and axolotl the training's.
        ("base_model: gpt2\nmicro_batch_size: 2\neval_strategy: steps\n", (None, None)),
        ("torchrun train.py --bf16 --per_device_train_batch_size 1 --eval_strategy steps", (8, None)),
        ("finetuning_type: lora\nper_device_train_batch_size: 1\ndo_eval: true\n", (8, None)),
        ("torchrun train.py --bf16 --per_device_eval_batch_size 64 --evaluation_strategy no", "64 counts for nothing"),
        ("max_length: 512\nper_device_eval_batch_size: 64\neval_strategy: no\ndo_eval: true\n", (64, None)),
        ("base_model: gpt2\nmicro_batch_size: 2\neval_batch_size: 16\nval_set_size: 0\n", "16 counts for nothing"),
    ],
)  # fmt: skip
def test_a_batch_of_evaluation_is_counted_where_there_is_any(text: str, told: str | tuple[int | None, ...]) -> None:
    found = read(text)
    lines = [line for line in found.missing if "evaluation" in line]
    assert len(lines) == isinstance(told, str)
    if isinstance(told, str):
        assert told in lines[0]
        told = (None, None)
    assert (found.facts.eval_batch, found.facts.eval_kept) == told


@pytest.mark.parametrize(
    ("samples", "steps", "expected"),
    [
        (0.833, 0.208, 4),
        (8.021, 0.334, 24),
        # The last step of an epoch has fewer: 1,000 samples in 63 steps.
        (158.73, 10.0, 16),
        # Three decimals of so slow a step say too little.
        (0.833, 0.02, None),
        (0.1, 0.0, None),
    ],
)
def test_samples_of_a_step_are_those_of_a_trainers_rates(samples: float, steps: float, expected: int | None) -> None:
    rates = f"'train_samples_per_second': {samples}, 'train_steps_per_second': {steps}"
    measured = read(f"{{'train_runtime': 60.0, {rates}, 'train_tokens_per_second': 900.0}}").measured
    assert measured is not None
    assert measured.samples_per_step == expected


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("mistralai/Mistral-7B-v0.1", "mistralai/Mistral-7B-v0.1"),
        ("mistralai/Mistral-7B-Instruct-v0.1", "mistralai/Mistral-7B-v0.1"),
        ("unsloth/mistral-7b-v0.3-bnb-4bit", "mistralai/Mistral-7B-v0.3"),
        ("mistralai/Mistral-7B", "mistralai/Mistral-7B-v0.3"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mistralai/Mixtral-8x7B-v0.1"),
    ],
)
def test_of_a_model_with_versions_the_one_that_is_named_is_read(name: str, model: str) -> None:
    assert read(f"base_model: {name}\nmicro_batch_size: 1\n").facts.model == model


BEGUN = """[INFO|trainer.py:2519] ***** Running training *****
[INFO|trainer.py:2520]   Num examples = 52,002
[INFO|trainer.py:2521]   Num Epochs = 3
[INFO|trainer.py:2522]   Instantaneous batch size per device = 4
[INFO|trainer.py:2525]   Total train batch size (w. parallel, distributed & accumulation) = 128
[INFO|trainer.py:2526]   Gradient Accumulation steps = 8
[INFO|trainer.py:2527]   Total optimization steps = 1,218
"""
"""What `transformers`' Trainer prints as it begins."""
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


@pytest.mark.parametrize("behind", ["", "100%|###| 100/100 [04:11<00:00,  2.27s/it]\n"])
def test_what_a_trainer_prints_as_it_begins_is_its_batch_and_cards(behind: str) -> None:
    reading = read(BEGUN + behind)
    assert reading.kind == "log"
    assert reading.facts == Facts(micro_batch=4, accumulate=8, global_batch=128, steps=1218)
    assert (reading.measured is None) is (not behind)
    words = words_of([reading], {"model": "gpt2", "gpu": "t4"}).words
    assert (words["batch"], words["accumulate"], words["dp"]) == (4, 8, 4)
    two = words_of([reading, read("torchrun --nproc_per_node 2 train.py")], {"model": "gpt2", "gpu": "t4"}).words
    assert two["dp"] == 2  # who says how many cards there are is right


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
