"""Files and messages that the planner's tests share."""

from __future__ import annotations

import json

from ironlaw import model

LLAMA, QWEN = "meta-llama/Meta-Llama-3-8B", "Qwen/Qwen2.5-0.5B"
FULL = f"model_name_or_path: {LLAMA}\nfinetuning_type: full\ncutoff_len: 6000\nbf16: true\n"
RUN = f"train.py --model_name_or_path {LLAMA} --bf16 --per_device_train_batch_size 1 --max_seq_length 1024"
COMMAND = f"torchrun --nproc_per_node 8 {RUN}"
ZERO_3 = '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}'
OFFLOADED = """{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"},
"offload_param": {"device": "cpu"}}, "bf16": {"enabled": true}}"""
NANO_GPT = "iter 100: loss 3.4, time 250.12ms, mfu 35.2%"


def header_of(name: str) -> str:
    """The header of a checkpoint in one file, with every layer's tensors, as safetensors keeps it."""
    numbers = {(one.name, at): one for one in model(name).parameter_tensors for at in one.layers or range(one.count)}
    entry = {"dtype": "BF16", "data_offsets": [0, 1]}
    tensors = {key.replace("*", str(at)): {**entry, "shape": list(one.shape)} for (key, at), one in numbers.items()}
    return json.dumps({"__metadata__": {"format": "pt"}, **tensors})
