"""Inputs of checkpointed blocks in the host's memory, by PyTorch's own hooks around a real network's blocks.

A hook moves what a checkpoint saves, as `torch.autograd.graph.save_on_cpu` does. On a machine without an accelerator
its copies are counted apart, as the host's, and what comes back is counted with the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ironlaw import EngineError, Transformer, estimate, setup, step_time, training_memory
from ironlaw.answers import prepare
from tests.engine.memory.adapted import forward, trained
from tests.engine.memory.test_peak_of_adapters import BATCH, SEQUENCE, SHAPE, Storages


class TwoMemories(Storages):  # type: ignore[no-untyped-call]
    """Storages of a device, and those that a hook has moved to its host."""

    def __init__(self, there: Any) -> None:
        self.host: dict[int, int] = {}
        super().__init__(there)

    def away(self, tensor: torch.Tensor) -> torch.Tensor:
        before, self.peak = self.peak, 10**12  # the copy is no peak of the device
        copy = tensor.detach().clone()
        self.peak = before
        storage = copy.untyped_storage()
        del self.alive[storage._cdata]
        self.now -= storage.nbytes()
        self.host[storage._cdata] = storage.nbytes()
        return copy

    def back(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.clone()

    def _gone(self, key: int, size: int) -> None:
        if key in self.alive:
            super()._gone(key, size)


class Moved(torch.nn.Module):
    """A block whose saved tensors are moved."""

    def __init__(self, block: torch.nn.Module, memories: TwoMemories) -> None:
        super().__init__()
        self.block, self.memories = block, memories

    def forward(self, *args: Any, **words: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(self.memories.away, self.memories.back):
            return self.block(*args, **words)


@pytest.mark.filterwarnings("ignore:.*use_cache")
@pytest.mark.parametrize("method", ["lora", "full"])
@pytest.mark.parametrize("precision", ["bf16", "fp32"])
@pytest.mark.parametrize("checkpointing", ["full-offload", "reentrant-offload"])
def test_what_is_where_is_as_hooks_see_it(checkpointing: str, precision: str, method: str) -> None:
    network, words = trained(SHAPE, precision, method)
    network.gradient_checkpointing_enable({"use_reentrant": checkpointing.startswith("reentrant")})
    if checkpointing.startswith("reentrant"):  # which have no gradients otherwise
        network.enable_input_require_grads()
    update = torch.optim.AdamW([p for p in network.parameters() if p.requires_grad], foreach=True)
    memories = TwoMemories([*network.parameters(), *network.buffers()])
    layers = network.model.layers if method == "full" else network.base_model.model.model.layers
    for index, block in enumerate(layers):
        layers[index] = Moved(block, memories)
    with memories:
        for _step in range(2):
            memories.peak = memories.now
            memories.host.clear()
            loss = forward(network, BATCH, SEQUENCE)
            host = sum(memories.host.values())
            loss.backward()  # type: ignore[no-untyped-call]
            del loss
            update.step()
            update.zero_grad(set_to_none=True)
    ledger = training_memory(
        SHAPE, batch=BATCH, sequence=SEQUENCE, backend="cpu", precision=precision, update="foreach",
        checkpointing=checkpointing, **words,
    )  # fmt: skip
    assert ledger.host_bytes == host > 0
    assert 0 <= memories.peak - ledger.allocated_peak < 2**11


def test_the_device_gives_up_what_the_host_takes() -> None:
    words: dict[str, Any] = {"gpu": "rtx-4090", "batch": 8, "sequence": 1024, "precision": "bf16"}
    here, away = (estimate("gpt2-xl", checkpointing=name, **words) for name in ("full", "full-offload"))
    inputs = 48 * 8 * 1024 * 1600 * 2
    assert away.memory_bytes.host == inputs == here.memory_bytes.activations - away.memory_bytes.activations
    assert here.flops == away.flops


def test_a_device_waits_for_a_slow_link() -> None:
    """A model of narrow blocks: each way takes as long as the link does, and what is beyond the work is waited for."""
    narrow = Transformer("narrow", layers=24, hidden=256, heads=4, vocab=1000, max_seq=4096)
    words: dict[str, Any] = {"batch": 64, "sequence": 1024, "precision": "bf16", "execution": "compiled"}
    c = setup(narrow, "h200", checkpointing="full-offload", **words)
    here, away = step_time(narrow, "h200", checkpointing="full", **words), step_time(c)
    assert c.host_link
    way = 24 * 64 * 1024 * 256 * 2 / c.host_link.achievable
    waited = max(way - here.forward, 0) + max(way - here.backward - here.recompute, 0)
    assert waited > 0
    assert away.total - here.total == pytest.approx(waited)
    batches: Any = np.array([8, 64])
    swept = prepare(c)(batches, 1024)
    assert swept.time.step_s[1] == pytest.approx(away.total)  # type: ignore[index]


def test_a_chip_without_a_link_to_a_host_is_refused() -> None:
    with pytest.raises(EngineError, match="which has no link to a host on record"):
        setup("gpt2", "orin", checkpointing="full-offload")
