"""Ten bad inputs, as words of a setup and as options, and the data of the error that each must raise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ironlaw.core.errors import EngineError, Instead


@dataclass(frozen=True)
class BadInput:
    """A setup of gpt2 that is refused.

    Attributes:
        words: The words of `setup`.
        options: The same on the command line.
        what: The word at fault.
        value: Its value.
        allowed: What is allowed.
        beside: The words that exclude it.
        model: By name.
    """

    words: Mapping[str, Any]
    options: str
    what: str
    value: object
    allowed: str | tuple[object, ...]
    beside: Mapping[str, object] = field(default_factory=dict)
    model: str = "gpt2"

    def raised(self, error: EngineError) -> None:
        """Assert that an error says this."""
        said = (error.what, error.value, error.allowed, error.beside)
        assert said == (self.what, self.value, self.allowed, dict(self.beside))


BAD_INPUT = (
    BadInput({"tp": 5}, "--tp 5", "tp", 5, (1, 2, 4), {"model": "gpt2"}),
    BadInput({"tp": 12}, "--tp 12", "tp", 12, (1, 2, 4, Instead("node_size", "of 12")), {"node_size": 8}),
    BadInput({"pp": 13}, "--pp 13", "pp", 13, "at most 12", {"model": "gpt2"}),
    BadInput({"zero": 1}, "--zero 1", "zero", 1, (0, Instead("dp", "of at least 2")), {"dp": 1}),
    BadInput(
        {"sequence_parallel": True},
        "--sequence-parallel",
        "sequence_parallel",
        True,
        (Instead("tp", "of at least 2"),),
        {"tp": 1},
    ),
    BadInput(
        {"pp": 4, "interleave": 2, "micro_batches": 4},
        "--pp 4 --interleave 2 --micro-batches 4",
        "interleave",
        2,
        (1, 3),
        {"pp": 4, "model": "gpt2"},
    ),
    BadInput({"sequence": 1025}, "--seq 1025", "sequence", 1025, "at most 1024", {"model": "gpt2"}),
    BadInput(
        {"accumulate": 2, "optimizer_in_backward": True},
        "--accumulate 2 --optimizer-in-backward",
        "accumulate",
        2,
        (1,),
        {"optimizer_in_backward": True},
    ),
    BadInput(
        {"gpu": "v100-16", "precision": "bf16"},
        "--gpu v100-16 --precision bf16",
        "precision",
        "bf16",
        ("fp32", "amp-fp16", "fp16", "mixed"),
        {"gpu": "v100-16"},
    ),
    BadInput(
        {"dp": 8, "zero": 3, "runtime": "deepspeed", "precision": "mixed"},
        "--dp 8 --zero 3 --runtime deepspeed --precision mixed",
        "zero",
        3,
        (0, 1, Instead("runtime", "none, for PyTorch's FSDP")),
        {"runtime": "deepspeed"},
    ),
)
