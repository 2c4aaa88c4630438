"""Recipes: the choices of a training step that trade memory for time, parsed once and checked against each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from engine.core.errors import EngineError, one_of, require_positive
from engine.core.units import Count
from engine.graph.checkpointing import Checkpointing, checkpointing

Offload = Literal["none", "optimizer", "gradients"]
Update = Literal["foreach", "for-loop", "fused"]

OFFLOADS = ("none", "optimizer", "gradients")
UPDATES = ("foreach", "for-loop", "fused")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The choices of a step.

    Attributes:
        checkpointing: What blocks recompute in backward.
        chunks: Pieces into which the head and the loss are cut along the sequence; 1 is the whole.
        accumulate: Micro-batches whose gradients are added up before an update.
        optimizer_in_backward: Whether each parameter is updated, and its gradient freed, as soon as it is known.
        offload: What lives in host memory: nothing, optimizer states and master copy, or these and gradients.
        update: PyTorch's implementation of the update: `foreach` works on all tensors at once and needs a temporary
            for each, `for-loop` on one at a time, `fused` without any.
    """

    checkpointing: Checkpointing
    chunks: Count
    accumulate: Count
    optimizer_in_backward: bool
    offload: Offload
    update: Update


@lru_cache(maxsize=512)
def recipe(
    checkpointing_policy: str | Checkpointing,
    loss: str,
    accumulate: Count,
    optimizer_in_backward: bool,
    offload: str,
    update: str,
) -> Recipe:
    """Parse and check the choices.

    Raises:
        EngineError: For an unknown name, or choices that exclude each other.
    """
    require_positive("accumulate", accumulate)
    if offload not in OFFLOADS:
        raise one_of("offload", offload, OFFLOADS)
    if update not in UPDATES:
        raise one_of("update", update, UPDATES)
    if optimizer_in_backward and accumulate > 1:
        raise EngineError(
            f"accumulate {accumulate} is not allowed with optimizer_in_backward, which keeps no gradients"
        )
    if optimizer_in_backward and offload == "gradients":
        raise EngineError("offload 'gradients' is not allowed with optimizer_in_backward, which keeps no gradients")
    policy = checkpointing(checkpointing_policy)
    return Recipe(policy, _chunks(loss), accumulate, optimizer_in_backward, offload, update)  # type: ignore[arg-type]


def _chunks(loss: str) -> Count:
    if loss == "full":
        return 1
    word, _, number = loss.partition(":")
    if word == "chunked" and number.isascii() and number.isdigit() and int(number) > 0:
        return int(number)
    raise EngineError(f"loss {loss!r} is unknown; allowed: full, chunked:K with K at least 1")
