"""What a source says about a run, as the one `Setup` that every question to the engine is asked of."""

from __future__ import annotations

from inspect import signature
from typing import Any

from ironlaw import EngineError, Setup, setup
from tools.accuracy.rows import Row

SAME_NAME = (
    "batch",
    "sequence",
    "precision",
    "optimizer",
    "attention",
    "attention_generation",
    "checkpointing",
    "loss",
    "metrics",
    "dropout",
    "optimizer_in_backward",
    "offload",
    "update",
    "framework",
    "runtime",
    "accumulation",
    "rms_norm",
    "interleave",
    "balanced",
    "overlap_tensor",
    "keep_logits",
    "logits",
)
"""Settings that a row and a setup call alike, as far as the setup has the word."""

UNSAID: tuple[tuple[str, object, str], ...] = (
    ("architecture", None, "a family that a Transformer cannot be"),
    ("experts", 1, "expert parallelism"),
    ("context", 1, "context parallelism"),
)
"""Settings of rows that are not asked for, the value that asks for nothing, and what they are in words.

Context and expert parallelism have words of a setup, which came after the coefficients were fitted: their rows wait for
the next fit, and `tests/engine/parallel/test_context_parallel.py` holds published runs against the former.
"""

UNSAID_VALUES = (
    ("checkpointing", "selective-op", "checkpointing by operator"),
    ("offload", "parameters", "parameters in host memory"),
    ("attention", "flash-3", "FlashAttention-3 on a card without a published rate of it"),
    ("quantization", "gptq", "a base in GPTQ's format"),
)
"""Values that a setup's word does not take, or, of parameters in host memory, takes as DeepSpeed's and not FSDP's."""

WORDS = frozenset(signature(setup).parameters)

ADAPTERS = "method" in WORDS
"""Whether a setup has words for adapters."""


def unasked(row: Row) -> str:
    """Why the engine cannot be asked for the run of a row: the first thing it has no word for; empty where it can."""
    for word, nothing, what in UNSAID:
        if row.get(word, nothing) != nothing:
            return what
    for word, value, what in UNSAID_VALUES:
        if row.get(word) == value:
            return what
    if row.get("method", "full") == "full":
        return ""
    if not ADAPTERS:
        return "adapters"
    if row.get("zero", 0) == 3 and (row.get("devices") or row.get("data", 1)) > 1:
        # The engine counts FSDP2. These rows ran PyTorch's first FSDP or DeepSpeed; asked all the same, the 67
        # of fms-acceleration have a median error of 20 %.
        return "adapters with zero 3, by other code than FSDP2"
    try:
        row_setup(row)
    except EngineError as error:
        # What adapters cannot be combined with is the engine's to say.
        return f"adapters with {error.what} {error.value}"
    return ""


_made: dict[int, tuple[Row, Setup]] = {}
"""By a row's identity, which lasts as long as the row is kept here: a report asks for the same ones many times."""


def row_setup(row: Row) -> Setup:
    """The run of a row that the engine can be asked for."""
    if id(row) not in _made:
        _made[id(row)] = row, _setup(row)
    return _made[id(row)][1]


def _setup(row: Row) -> Setup:
    assert row.shape is not None
    tensor, pipeline = row.get("tensor", 1), row.get("pipeline", 1)
    data = row.get("data") or row.get("devices", 1) // (tensor * pipeline)
    micro_batches = row.get("accumulate", 1)
    if "global_batch" in row.settings:
        micro_batches = max(1, round(row.get("global_batch") / (data * row.get("batch"))))
    words = {key: row.settings[key] for key in SAME_NAME if key in row.settings and key in WORDS}
    if words.get("loss", "full") not in ("full", "fused"):
        words.pop("logits", None)  # which are never there whole
    if row.get("activation_offload", False):
        words["checkpointing"] = f"{words['checkpointing']}-offload"
    if "fused" in row.get("kernels", ""):
        words["rms_norm"] = "fused"
    return setup(
        row.shape,
        row.get("gpu"),
        execution="compiled" if row.get("fused", False) else "eager",
        dp=data,
        tp=tensor,
        pp=pipeline,
        # With one replica, or one device in a group, there is nothing to divide.
        zero=row.get("zero", 0) if data > 1 else 0,
        sequence_parallel=row.get("sequence_parallel", False) and tensor > 1,
        micro_batches=micro_batches,
        overlap=row.get("overlap", False),
        network_gbit=row.get("network_gbit") or None,
        **(words | _adapters(row)),
    )


def computed_in_fp32(row: Row) -> bool:
    """Whether all but the products of 4-bit matrices is FP32: what peft's preparation leaves without autocast."""
    return bool(row.get("base", "16-bit") == "fp32" and not row.get("autocast", False))


def _adapters(row: Row) -> dict[str, Any]:
    """The words of a row's adapters."""
    if row.get("method", "full") == "full":
        return {}
    quantization = row.get("quantization", "none")
    words: dict[str, Any] = {
        "method": "lora" if quantization == "none" else "qlora",
        "lora_rank": row.get("rank"),
        "lora_targets": ",".join(f"{name}_proj" for name in row.get("targets").split()),
        "lora_dropout": row.get("dropout_adapters", 0.0),
        "adapter_format": row.get("adapters", "fp32"),
        "base_format": row.get("base", "16-bit"),
    }
    if row.get("autocast", False):
        words["precision"] = f"amp-{row.get('precision')}"
    elif computed_in_fp32(row):
        words["precision"] = "fp32"
    return words if quantization == "none" else words | {"double_quantization": quantization == "nf4-double"}
