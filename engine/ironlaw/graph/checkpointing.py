"""Activation checkpointing policies: what is thrown away in the forward pass and computed again in the backward pass.

`none` keeps everything; `selective` computes the core of attention again (Korthikanti et al. 2022, arXiv 2205.05198,
section 5); `every:K` keeps the input of every K-th block only; `full` is `every:1` (Chen et al. 2016, arXiv
1604.06174). `reentrant` is `full` by PyTorch's older implementation (`use_reentrant=True`): it computes a block again
to its end, and holds its input, its result and the result's gradient until the block's backward is over.
`full-offload` and `reentrant-offload` do the same with the blocks' inputs in the host's memory, as torchtune and
Unsloth do: each travels there while the forward pass goes on, and comes back to be computed from.

Sources: PyTorch 2.13, `torch/utils/checkpoint.py` (`CheckpointFunction`) and `torch/autograd/graph.py`
(`save_on_cpu`); torchtune 0.6, `training/_activation_offloading.py`; unsloth_zoo, `gradient_checkpointing.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ironlaw.core.errors import EngineError, require_positive
from ironlaw.core.units import Count, Ratio


@dataclass(frozen=True, slots=True)
class Checkpointing:
    """A policy.

    Attributes:
        kind: What is thrown away.
        every: Blocks per segment, 0 when blocks are not checkpointed.
        reentrant: Whether by PyTorch's older implementation.
        away: Whether the inputs of blocks wait in the host's memory.
    """

    kind: Literal["none", "selective", "full"]
    every: Count = 0
    reentrant: bool = False
    away: bool = False

    @property
    def name(self) -> str:
        """As written on the command line."""
        kind = f"every:{self.every}" if self.every > 1 else "reentrant" if self.reentrant else self.kind
        return f"{kind}-offload" if self.away else kind


NONE = Checkpointing("none")
OF_BLOCKS = ("full", "full-offload", "reentrant", "reentrant-offload")
"""Policies that throw away every block."""
WORDS = ("none", "selective", *OF_BLOCKS)
"""Policies that are a word."""
POLICIES = (*WORDS, "every:K with K at least 1")
"""How policies are written."""


@lru_cache(maxsize=64)
def checkpointing(policy: str | Checkpointing) -> Checkpointing:
    """The policy written as one of `POLICIES`. Raises `EngineError` for anything else."""
    if isinstance(policy, Checkpointing):
        return policy
    if policy == "none":
        return NONE
    if policy == "selective":
        return Checkpointing("selective")
    if policy in OF_BLOCKS:
        return Checkpointing("full", 1, reentrant=policy.startswith("reentrant"), away=policy.endswith("-offload"))
    word, _, number = policy.partition(":")
    if word == "every" and number.isascii() and number.isdigit() and int(number) > 0:
        return Checkpointing("full", int(number))
    raise EngineError("checkpointing", policy, POLICIES)


def alive_tensors(layers: Count, every: Count, block_tensors: Ratio = 1) -> Ratio:
    """What checkpointing has alive at most, in tensors of the size of a block's input: `L / K + K b`.

    The inputs of all segments, and everything that the `every` blocks of one segment keep while it is computed again.

    Args:
        layers: Blocks of the model, L.
        every: Blocks per segment, K.
        block_tensors: What one block keeps for its backward pass, over the size of its input, b.

    Source: Chen et al. 2016, arXiv 1604.06174, section 4, where b is 1.
    """
    require_positive("layers", layers)
    require_positive("every", every)
    return math.ceil(layers / every) + every * block_tensors


def sqrt_placement(layers: Count, block_tensors: Ratio = 1) -> Count:
    """Blocks per segment that keep the least: about `sqrt(L / b)`, the smallest when several do.

    With one tensor a block (b = 1) it is the square root of the layers. A transformer's block keeps an order of
    magnitude more than its input, which moves the optimum to a block or two per segment. See `alive_tensors`.
    """
    require_positive("layers", layers)
    return min(range(1, layers + 1), key=lambda every: (alive_tensors(layers, every, block_tensors), every))
