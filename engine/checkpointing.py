"""Activation checkpointing policies: what is thrown away in the forward pass and computed again in the backward pass.

`none` keeps everything; `selective` computes the core of attention again (Korthikanti et al. 2022, arXiv 2205.05198,
section 5); `every:K` keeps the input of every K-th block only; `full` is `every:1` (Chen et al. 2016, arXiv
1604.06174).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from engine.errors import EngineError, require_positive
from engine.units import Count


@dataclass(frozen=True, slots=True)
class Checkpointing:
    """A policy; `every` is the number of blocks per segment, 0 when blocks are not checkpointed."""

    kind: Literal["none", "selective", "full"]
    every: Count = 0

    @property
    def name(self) -> str:
        """As written on the command line."""
        return f"every:{self.every}" if self.every > 1 else self.kind


NONE = Checkpointing("none")


@lru_cache(maxsize=64)
def checkpointing(policy: str | Checkpointing) -> Checkpointing:
    """The policy written as `none`, `selective`, `full` or `every:K`. Raises `EngineError` for anything else."""
    if isinstance(policy, Checkpointing):
        return policy
    if policy == "none":
        return NONE
    if policy == "selective":
        return Checkpointing("selective")
    if policy == "full":
        return Checkpointing("full", 1)
    word, _, number = policy.partition(":")
    if word == "every" and number.isascii() and number.isdigit() and int(number) > 0:
        return Checkpointing("full", int(number))
    raise EngineError(f"checkpointing {policy!r} is unknown; allowed: none, selective, full, every:K with K at least 1")


def sqrt_placement(layers: Count) -> Count:
    """Blocks per segment that keep the least: about sqrt(L).

    With segments of K blocks, L/K inputs and the K blocks of one segment are alive at once; L/K + K is least at
    sqrt(L) when a block keeps as much as its input. Source: Chen et al. 2016, arXiv 1604.06174, section 4.
    """
    require_positive("layers", layers)
    return max(range(1, layers + 1), key=lambda every: (-(math.ceil(layers / every) + every), -every))
