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
