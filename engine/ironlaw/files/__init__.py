"""Reads what people have in hand: configurations of trainers, launch commands, logs, messages, tables of GPUs.

    >>> from ironlaw.files import read
    >>> reading = read("torchrun --nnodes 2 --nproc-per-node 8 train.py")
    >>> reading.kind, reading.facts.devices
    ('command', 16)

Texts are read as something that a stranger sent; only numbers and names that the engine knows are kept of them. YAML
needs PyYAML: `pip install "ironlaw[plan]"`.
"""

from __future__ import annotations

from ironlaw.core.errors import EngineError
from ironlaw.files import cluster_files, command_line, documents, logs, messages, trainers
from ironlaw.files.facts import Facts, Observed, Reading

__all__ = ["Facts", "Observed", "Reading", "read"]

KINDS = (
    "a config.json", "a YAML of axolotl, LLaMA-Factory, TRL or accelerate", "a JSON of DeepSpeed",
    "a command such as torchrun", "an out-of-memory message", "the table of nvidia-smi",
    "a log of nanoGPT, llm.c, torchtitan, Megatron-LM, Trainer or axolotl",
)  # fmt: skip


def read(text: str) -> Reading:
    """What a text says, whichever of the known kinds it is.

    Raises:
        EngineError: It is of none of these kinds, or has a value that its program does not take.
    """
    text = text[-documents.LONGEST :].lstrip("\ufeff")
    if messages.is_out_of_memory(text):
        return messages.out_of_memory(text)
    if messages.is_nvidia_smi(text):
        return messages.nvidia_smi(text)
    if command_line.is_command(text):
        return command_line.read(text)
    if (found := logs.read(text)) is not None:
        return found
    if (document := documents.mapping(text)) is not None and (found := _document(document)) is not None:
        return found
    raise EngineError("file", f"of {len(text)} characters", KINDS, because="which is of no known kind")


def _document(document: dict[str, object]) -> Reading | None:
    if cluster_files.is_deepspeed(document):
        return cluster_files.deepspeed(document)
    if cluster_files.is_accelerate(document):
        return cluster_files.accelerate(document)
    if "architectures" in document or ("model_type" in document and "vocab_size" in document):
        return Reading("config.json", config=document)
    dialect = trainers.dialect_of(document)
    return trainers.read(document, dialect) if dialect else None
