"""What a source says about a run, as the one `Setup` that every question to the engine is asked of."""

from __future__ import annotations

from engine import Setup, setup
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
)
"""Settings that a row and a setup call alike."""


def row_setup(row: Row) -> Setup:
    """The run of a row."""
    assert row.shape is not None
    tensor, pipeline = row.get("tensor", 1), row.get("pipeline", 1)
    data = row.get("data") or row.get("devices", 1) // (tensor * pipeline)
    micro_batches = row.get("accumulate", 1)
    if "global_batch" in row.settings:
        micro_batches = max(1, round(row.get("global_batch") / (data * row.get("batch"))))
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
        **{key: row.settings[key] for key in SAME_NAME if key in row.settings},
    )
