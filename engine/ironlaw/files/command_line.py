"""A command that starts a training: `torchrun`, `accelerate launch`, `deepspeed`, `python`, with the script's options.

The options of `transformers`' and TRL's trainers are read as in their files, those of Megatron-LM by their own names.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

from ironlaw.core.errors import EngineError
from ironlaw.files import trainers, values
from ironlaw.files.facts import Facts, Reading

_PROGRAMS = r"torchrun|accelerate\s+launch|deepspeed|python3?|llamafactory-cli|axolotl"
_STARTS = re.compile(rf"^\s*(?:[A-Z_][A-Z0-9_]*=\S+\s+)*(?:{_PROGRAMS})\s")
_PROCESSES = ("nproc_per_node", "num_gpus", "gpus_per_node")
LONGEST = 50_000
"""Characters of a command, whose words are found slowly."""
_LISTS = ("lora_target_modules",)
"""Options that take several values."""
_MEGATRON = {
    "tensor_model_parallel_size": "tensor", "pipeline_model_parallel_size": "pipeline",
    "context_parallel_size": "context", "expert_model_parallel_size": "expert", "micro_batch_size": "micro_batch",
    "global_batch_size": "global_batch", "seq_length": "sequence", "train_iters": "steps",
}  # fmt: skip


def is_command(text: str) -> bool:
    """Whether a text begins as a command that starts a training."""
    return _STARTS.match(_one_line(text)) is not None


def _one_line(text: str) -> str:
    """The command without the lines of comment before it."""
    return re.sub(r"\\\s*\n", " ", re.sub(r"\A\s*(#.*\n\s*)*", "", text.strip()))


def options(text: str) -> dict[str, str]:
    """The options of a command by name, with `_` for `-`; one without a value is `true`.

    Raises:
        EngineError: It is too long, or a quotation mark has no second one.
    """
    if len(line := _one_line(text)) > LONGEST:
        raise EngineError("command", f"of {len(line)} characters", f"at most {LONGEST} characters long")
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        raise EngineError("command", "with an open quotation mark", "with pairs of quotation marks") from None
    found: dict[str, str] = {}
    name = ""
    for word in words:
        if re.match(r"--?[A-Za-z]", word):
            name, equals, value = word.lstrip("-").partition("=")
            name = name.replace("-", "_")
            found[name] = value if equals else "true"
            name = "" if equals else name
        elif name:
            found[name] = word if found[name] == "true" else f"{found[name]},{word}"
            name = name if name in _LISTS else ""
    return found


def read(text: str) -> Reading:
    """The facts of a command. Raises `EngineError` for a value that the program would refuse."""
    given: dict[str, Any] = options(text)
    per_node = next((given[name] for name in _PROCESSES if name in given), None)
    nodes = _nodes(given.get("nnodes", given.get("num_nodes", given.get("num_machines"))))
    here = None if per_node in ("gpu", "auto") else values.count("nproc-per-node", per_node)
    devices = here * (nodes or 1) if here else values.count("num-processes", given.get("num_processes"))
    facts = Facts(devices=devices, nodes=nodes)
    if "tensor_model_parallel_size" in given or "num_attention_heads" in given:
        return Reading("command", facts.joined(_megatron(given)))
    program = "LLaMA-Factory" if "finetuning_type" in given else "TRL"
    dialect = next(one for one in trainers.DIALECTS if one.kind == program)
    if not dialect.marks & given.keys():
        return Reading("command", facts, missing=("The script's own settings are not in it: add its file.",))
    inside = trainers.read(given, dialect)
    return Reading("command", facts.joined(inside.facts), keys=inside.keys, missing=inside.missing)


def _nodes(value: object) -> int | None:
    # `1:4` means from one to four machines; a plan is for the most.
    return values.count("nnodes", str(value).rpartition(":")[2] if value is not None else None)


def _megatron(given: dict[str, Any]) -> Facts:
    found: dict[str, Any] = {
        fact: values.count(name.replace("_", "-"), given.get(name)) for name, fact in _MEGATRON.items()
    }
    found["compute"] = next((form for form in ("bf16", "fp16") if form in given), "fp32")
    found["method"], found["stage"] = "full", "pretrain"
    if "use_distributed_optimizer" in given:
        found["zero"] = 1
    recompute = given.get("recompute_granularity")
    found["checkpointing"] = None if recompute is None else recompute == "full"
    found["selective"] = True if recompute == "selective" else None
    return Facts(**found)
