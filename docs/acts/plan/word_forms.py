"""Words of a setup that no control of the planner has, and what each can be in a link."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from ironlaw import EngineError
from ironlaw.config.choices import Offload, RmsNorm, Runtime, UpdateKind, buffers, rollout
from ironlaw.core.errors import LARGEST
from ironlaw.files.values import is_module
from ironlaw.graph.adaptation import Format
from ironlaw.graph.blocks import FrameworkName

MOST_IMBALANCE = 100_000
"""The largest `imbalance` that the command line takes."""


def _is_count(value: object) -> bool:
    return type(value) is int and 1 <= value <= LARGEST


def _is_rate(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < 1  # type: ignore[operator]


def _is_targets(value: object) -> bool:
    text = value if isinstance(value, str) and len(value) <= LONGEST_TARGETS else ""
    return text == "all-linear" or all(map(is_module, text.split(",")))


def _read_by(reader: Callable[[Any], object]) -> Callable[[object], bool]:
    """Whether a part of the engine understands a text."""

    def is_understood(value: object) -> bool:
        try:
            return isinstance(value, str) and reader(value) is not None
        except EngineError:
            return False

    return is_understood


LONGEST_TARGETS = 300
"""Characters of a list of modules."""
MORE: Mapping[str, Callable[[object], bool]] = {
    **dict.fromkeys(("cp", "ep", "node_size", "micro_batches", "quantization_block", "eval_batch"), _is_count),
    **dict.fromkeys(("lora_dropout", "dropout"), _is_rate),
    **dict.fromkeys(
        ("dora", "double_quantization", "keep_logits", "eval_logits", "sequence_parallel", "balanced"),
        lambda one: isinstance(one, bool),
    ),
    **dict.fromkeys(("adapter_format", "base_format"), get_args(Format).__contains__),
    "eval_kept": lambda one: _is_count(one) or one == 0,
    "imbalance": lambda one: type(one) in (int, float) and 1 <= one <= MOST_IMBALANCE,  # type: ignore[operator]
    "framework": get_args(FrameworkName).__contains__,
    "lora_targets": _is_targets,
    "offload": get_args(Offload).__contains__,
    "offload_sizes": _read_by(buffers),
    "reference": lambda one: isinstance(one, str) and re.fullmatch("(16-bit|fp32)(:[1-9])?", one) is not None,
    "rollout": _read_by(rollout),
    "rms_norm": get_args(RmsNorm).__contains__,
    "runtime": get_args(Runtime).__contains__,
    "update": get_args(UpdateKind).__contains__,
}
"""Words of a setup that no control has, which files set, and what each can be."""
