"""FSDP2's memory: the engine against PyTorch's `fully_shard`, which runs here with collectives that do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

from gpu_bench.measure.memory import cpu_allocator_peak, storage_bytes
from ironlaw import EngineError, Transformer, training_memory
from tests.engine.graph.test_saved_activations import _default_dtype, gpt2, llama
from tests.engine.memory.sharded import LLAMA, REPLICAS, local, replicas

SHAPES = {
    # Like Llama 3 8B the first has a root larger than four blocks.
    "root": (Transformer("root", 8, 256, 4, 8000, 512, **LLAMA), 1, 64),
    "logits": (Transformer("logits", 8, 256, 4, 8000, 512, **LLAMA), 4, 256),
    "activations": (Transformer("activations", 8, 256, 4, 500, 512, **LLAMA), 2, 256),
    "tied table": (Transformer("tied", 6, 256, 8, 30000, 512), 1, 64),
    "blocks": (Transformer("blocks", 4, 1024, 8, 400, 512), 1, 128),
}


@pytest.fixture(scope="module")
def mesh() -> Iterator[DeviceMesh]:
    with replicas() as all_of_them:
        yield all_of_them


def measured_peak(
    mesh: DeviceMesh, shape: Transformer, batch: int, sequence: int, checkpointed: bool, kept: torch.dtype
) -> int:
    """The most bytes allocated in the third step of the first of eight replicas, as PyTorch's profiler records it."""
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
    with _default_dtype(kept):
        is_llama = shape.mlp == "swiglu"
        network: Any = (llama if is_llama else gpt2)(shape, "flash", 0.0)().train()
        tokens = torch.zeros(batch, sequence, dtype=torch.long)
        for block in network.model.layers if is_llama else network.blocks:
            fully_shard(block, mesh=mesh, mp_policy=policy)
        fully_shard(network, mesh=mesh, mp_policy=policy)
        if checkpointed and is_llama:
            network.gradient_checkpointing_enable({"use_reentrant": False})
        elif checkpointed:
            network.run_blocks = _checkpointed
        optimizer = torch.optim.AdamW(network.parameters(), fused=True)

        def step() -> None:
            if is_llama:
                loss = network(input_ids=tokens, labels=tokens, use_cache=False).loss
            else:
                loss = network(tokens, tokens)[1]
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        step()
        step()
        states = [value for state in optimizer.state.values() for value in state.values()]
        held = storage_bytes(local(tensor) for tensor in (*network.parameters(), *states, tokens))
        return cpu_allocator_peak(step, held)


def _checkpointed(blocks: Any, x: torch.Tensor) -> torch.Tensor:
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    return x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("checkpointing", ["none", "full"])
@pytest.mark.parametrize("where", SHAPES)
@pytest.mark.parametrize(("precision", "kept"), [("bf16", torch.bfloat16), ("mixed-bf16", torch.float32)])
@pytest.mark.sampled(7)
def test_the_peak_under_fsdp2_is_pytorchs(
    mesh: DeviceMesh, where: str, checkpointing: str, precision: str, kept: torch.dtype
) -> None:
    shape, batch, sequence = SHAPES[where]
    ledger = training_memory(
        shape, batch=batch, sequence=sequence, precision=precision, dp=REPLICAS, zero=3, update="fused",
        checkpointing=checkpointing, backend="cpu",
    )  # fmt: skip
    measured = measured_peak(mesh, shape, batch, sequence, checkpointing == "full", kept)
    # Casts of shards, on their way to be gathered and reduced, are not counted: an eighth of a block each here.
    assert ledger.allocated_peak == pytest.approx(measured, rel=0.035 if precision == "bf16" else 0.05)


def test_the_root_is_gathered_once_and_blocks_twice() -> None:
    ledger = training_memory("llama3.1-8b", batch=1, sequence=512, precision="bf16", dp=8, zero=3)
    gathered = {t.name: t.count for t in ledger.tensors if t.component == "gathered"}
    assert gathered["wte.weight.gathered"] == gathered["lm_head.weight.gathered"] == 1
    assert {count for name, count in gathered.items() if name.startswith("blocks.")} == {2}


@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
def test_offloaded_shards_leave_a_device_what_is_whole_on_it(method: str) -> None:
    """FSDP's `CPUOffloadPolicy`: the host has the shards of weights, gradients and states; blocks are gathered."""
    words: dict[str, Any] = {"dp": 4, "zero": 3, "method": method, "precision": "bf16", "update": "fused"}
    here, away = (
        training_memory("llama3-8b", "h100-sxm", 2, 1024, **words, offload=offload) for offload in ("none", "shards")
    )
    shards = [
        t for t in here.tensors if t.component in ("parameters", "gradients", "optimizer") and "data" in t.shard_group
    ]
    assert away.host_bytes == sum(t.bytes for t in shards) > 0
    assert {t.component for t in shards} == {"parameters", "gradients", "optimizer"}
    whole = ("gathered", "buckets")
    assert [away.component(name) for name in whole] == [here.component(name) for name in whole]
    left = [t for t in here.tensors if t not in shards and t.component not in whole]
    assert all(t.name.rpartition(".")[2] != "grad" for t in left)
    assert away.saved_bytes == here.saved_bytes


def test_shards_go_to_the_host_with_fsdp_alone() -> None:
    refused: tuple[dict[str, Any], ...]
    refused = ({"dp": 4, "zero": 2}, {"zero": 0}, {"dp": 4, "zero": 3, "offload_sizes": "bucket:1000"})
    for words in refused:
        with pytest.raises(EngineError, match="offload 'shards' is not allowed"):
            training_memory("llama3-8b", "h100-sxm", 1, 1024, offload="shards", **words)
    with pytest.raises(EngineError, match="optimizer_in_backward"):
        training_memory("llama3-8b", "h100-sxm", 1, 1024, offload="shards", dp=4, zero=3, optimizer_in_backward=True)
