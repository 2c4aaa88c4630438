"""What tests of the planner share: its default state, moved and sent, and texts that somebody pastes."""

from __future__ import annotations

from typing import Any

from book import plans
from docs.acts.plan.act import ACT
from explorable.live import State

START = ACT.default_state()
UNCOUNTED = "This page cannot count that yet"
AXOLOTL = """base_model: NousResearch/Meta-Llama-3-8B
load_in_4bit: true
adapter: qlora
lora_r: 32
sequence_len: 4096
micro_batch_size: 2
gradient_accumulation_steps: 4
optimizer: adamw_bnb_8bit
bf16: auto
gradient_checkpointing: true
flash_attention: true
"""
SECRETS = """hub_token: hf_sEcReTtOkEn
wandb_project: my-secret-project
output_dir: /home/somebody/very/secret
datasets:
  - path: somebody/private-data
"""


def at(**controls: Any) -> State:
    """The default state with these controls."""
    return plans.moved(START, controls)


def sent(state: State) -> dict[str, Any]:
    """A state as the page sends it."""
    return {"context": state.context, "controls": dict(state.controls), "prediction": None}


OUT_OF_MEMORY = """CUDA out of memory. Tried to allocate 2.32 GiB.
GPU 0 has a total capacity of 23.65 GiB of which 1.09 GiB is free.
"""
