"""The peak of a checkpointed step with adapters, by counting storages as they come and go.

PyTorch's memory tracker is no referee here: beside frozen parameters and checkpoints its own hooks hold two hidden
states more than the step does without it. So each storage is watched by a weak reference while the step runs.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ironlaw import training_memory
from tests.engine.memory.adapted import LLAMA, autocasting, forward, trained

SHAPE = replace(LLAMA, layers=4, hidden=128, head_size=32, ffn=344, max_seq=256)
BATCH, SEQUENCE = 4, 128


class Storages(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Bytes of all storages that are alive, and the most of them at once."""

    def __init__(self, there: Iterable[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.alive: dict[int, Any] = {}
        self.now = self.peak = 0
        for tensor in there:
            self._add(tensor)

    def _add(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self.alive:
            return
        self.alive[key] = weakref.ref(storage, lambda _: self._gone(key, size))
        self.now += size
        self.peak = max(self.peak, self.now)

    def _gone(self, key: int, size: int) -> None:
        del self.alive[key]
        self.now -= size

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor):
                self._add(leaf)
        return out


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore:.*use_cache")
@pytest.mark.parametrize("method", ["lora", "full"])
@pytest.mark.parametrize("checkpointing", ["full", "reentrant", "none"])
@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_the_peak_is_that_of_the_storages(precision: str, checkpointing: str, method: str) -> None:
    """But for scalars, positions and shifted targets, of which the engine counts none at the peak."""
    network, words = trained(SHAPE, precision, method)
    if checkpointing != "none":
        network.gradient_checkpointing_enable({"use_reentrant": checkpointing == "reentrant"})
        network.enable_input_require_grads()
    update = torch.optim.AdamW([p for p in network.parameters() if p.requires_grad], foreach=True)
    with Storages([*network.parameters(), *network.buffers()]) as storages:
        for _step in range(2):
            storages.peak = storages.now
            loss = forward(network, BATCH, SEQUENCE)
            loss.backward()  # type: ignore[no-untyped-call]
            del loss
            update.step()
            update.zero_grad(set_to_none=True)
    ledger = training_memory(
        SHAPE, batch=BATCH, sequence=SEQUENCE, backend="cpu", precision=precision, update="foreach",
        checkpointing=checkpointing, **words,
    )  # fmt: skip
    assert 0 <= storages.peak - ledger.allocated_peak < 2**11


@pytest.mark.filterwarnings("ignore:.*use_cache")
@pytest.mark.parametrize("checkpointing", ["full", "reentrant"])
def test_autocast_keeps_no_cast_of_a_frozen_weight(checkpointing: str) -> None:
    """All casts of this step would be 2.4 MB, and one of the largest matrix is 88,064 bytes."""
    shape = replace(SHAPE, layers=8)
    network, words = trained(shape, "fp32", "lora")
    network.gradient_checkpointing_enable({"use_reentrant": checkpointing == "reentrant"})
    network.enable_input_require_grads()
    with Storages([*network.parameters(), *network.buffers()]) as storages:
        for _step in range(2):
            for parameter in network.parameters():
                parameter.grad = None
            storages.peak = storages.now
            with autocasting():
                loss = forward(network, 1, 16)
            loss.backward()  # type: ignore[no-untyped-call]
            del loss
    ledger = training_memory(
        shape, batch=1, sequence=16, backend="cpu", precision="amp-bf16", optimizer="sgd", update="fused",
        checkpointing=checkpointing, **words,
    )  # fmt: skip
    assert 0 <= storages.peak - ledger.allocated_peak < 2**16
