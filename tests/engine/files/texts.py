"""Texts as people paste them, and what is read in one: shared by the tests of the readers."""

from __future__ import annotations

import json
from pathlib import Path

from ironlaw.files import read

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


LOGS: dict[str, str] = json.loads(Path(__file__).with_name("logs.json").read_text("utf-8"))
"""Lines of karpathy/nanoGPT #178, #466; karpathy/llm.c #796; pytorch/torchtitan #2389; NVIDIA/Megatron-LM #756;
axolotl-ai-cloud/axolotl #3196, #592; saforem2/ezpz, docs/examples/hf-trainer/comparison.md (24 devices). The browser
tests paste the same."""
AXOLOTL = (
    "base_model: meta-llama/Llama-3.1-8B\nadapter: lora\nlora_r: 16\nlora_target_linear: true\nsequence_len: 2048\n"
    "micro_batch_size: 1\nbf16: true\ngradient_checkpointing: true\n"
)
LLAMA_FACTORY = "model_name_or_path: meta-llama/Meta-Llama-3-8B\nstage: sft\nfinetuning_type: {}\ncutoff_len: 2048\n"
OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.10 GiB "
    "of which 1.00 GiB is free.\n"
)
MODEL = "--model_name_or_path meta-llama/Llama-3.1-8B --bf16"
TRL = "torchrun -m trl.scripts.sft --model_name_or_path meta-llama/Llama-3.1-8B --dataset_name x --bf16"
MEGATRON = (
    "torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --micro-batch-size 1 "
    "--global-batch-size 32 --seq-length 8192 --bf16 --use-distributed-optimizer"
)
TITAN = (
    "Building 1-D device mesh with ['dp_shard'], [8]\nModel llama3 8B size: 8,030,261,248 total parameters\n"
    "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory\n{}\n"
    "Trainer is initialized with local batch size 1, global batch size 8, gradient accumulation steps 1, "
    "sequence length 8192, total steps 100\n"
    "step:  1  loss:  8.1  memory: 40.00GiB(50.57%)  tps: 2,000  mfu: 10.00%\n"
    "step: 10  loss:  7.1  memory: 40.00GiB(50.57%)  tps: 6,000  mfu: 35.00%\n"
)
