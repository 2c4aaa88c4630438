"""Adapters under FSDP2: the engine against `fully_shard`, peft and bitsandbytes, with collectives that do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bitsandbytes
import pytest
import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from gpu_bench.measure.memory import cpu_allocator_peak, storage_bytes
from ironlaw import Transformer, job_time, setup, training_memory
from ironlaw.config.changed import changed
from tests.engine.memory.adapted import FORMATS, autocasting, llama, with_adapters
from tests.engine.memory.sharded import LLAMA, REPLICAS, local, replicas

ROOT = Transformer("root", 8, 256, 4, 8000, 512, **LLAMA)
BLOCKS = Transformer("blocks", 4, 1024, 8, 400, 512, **LLAMA | {"ffn": 2048})
# Shape, batch, sequence, method, formats of adapters and base, checkpointed, precision: each moment is some peak.
CASES = {
    "loss": (ROOT, 4, 256, "lora", "16-bit", "16-bit", True, "bf16"),
    "loss, fp32 adapters": (ROOT, 4, 256, "lora", "fp32", "16-bit", True, "bf16"),
    "loss, 4 bits": (ROOT, 4, 256, "qlora", "16-bit", "16-bit", True, "bf16"),
    "first gather": (ROOT, 1, 64, "lora", "16-bit", "16-bit", True, "bf16"),
    "first gather, 4 bits, autocast": (ROOT, 1, 64, "qlora", "fp32", "fp32", True, "amp-bf16"),
    "first gather, 4 bits, as FSDP-QLoRA": (ROOT, 1, 64, "qlora", "fp32", "16-bit", True, "amp-bf16"),
    "last gather": (BLOCKS, 1, 64, "lora", "16-bit", "16-bit", False, "bf16"),
    "last gather, checkpointed": (BLOCKS, 1, 64, "lora", "fp32", "16-bit", True, "bf16"),
    "last segment": (BLOCKS, 4, 256, "lora", "16-bit", "16-bit", True, "bf16"),
    "loss, FP32 shards": (ROOT, 4, 256, "lora", "fp32", "fp32", True, "mixed-bf16"),
    "last gather, shards of two formats": (BLOCKS, 1, 64, "lora", "fp32", "16-bit", False, "mixed-bf16"),
    "last segment, FP32 shards": (BLOCKS, 4, 256, "lora", "fp32", "fp32", True, "mixed-bf16"),
}


@pytest.fixture(scope="module")
def mesh() -> Iterator[DeviceMesh]:
    with replicas() as all_of_them:
        yield all_of_them


def _in_four_bits(network: Any, compute: torch.dtype) -> None:
    """The blocks' matrices in NF4, their bytes stored as BF16: FSDP2 divides parameters of floating formats alone."""
    layers: Any = bitsandbytes.nn
    for module in list(network.model.layers.modules()):
        for name, child in list(module.named_children()):
            if type(child) is torch.nn.Linear:
                stored = {"quant_type": "nf4", "quant_storage": torch.bfloat16}
                four = layers.Linear4bit(
                    child.in_features, child.out_features, bias=False, compute_dtype=compute, **stored
                )
                frozen = {"requires_grad": False, "module": four, "blocksize": 64}
                four.weight = layers.Params4bit(child.weight.data, **frozen, **stored)
                four.weight = four.weight.to("cpu")
                setattr(module, name, four.train())


def _scales(network: Any) -> Iterator[torch.Tensor]:
    for module in network.modules():
        if (state := getattr(module, "quant_state", None)) is not None:
            yield from (state.absmax, state.code, state.offset, state.state2.absmax, state.state2.code)


def measured(mesh: DeviceMesh, case: tuple[Any, ...]) -> tuple[int, int]:
    """Bytes that stay between steps without gradients, and the most in the third step, of the first of all replicas."""
    shape, batch, sequence, method, adapters, base, checkpointed, precision = case
    network = llama(shape, FORMATS[base])
    if method == "qlora":
        _in_four_bits(network, torch.bfloat16)
    network = with_adapters(network, "all-linear", rank=16)
    for name, parameter in network.named_parameters():
        if "lora" in name:
            parameter.data = parameter.data.to(FORMATS[adapters])
    if checkpointed:
        network.gradient_checkpointing_enable({"use_reentrant": False})
    network.enable_input_require_grads()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16 if precision == "mixed-bf16" else None)
    for block in network.base_model.model.model.layers:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(network, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.AdamW([p for p in network.parameters() if p.requires_grad], fused=True)
    tokens = torch.arange(batch * sequence).reshape(batch, sequence) % shape.vocab

    def step() -> None:
        with autocasting(enabled=precision == "amp-bf16"):
            loss = network(input_ids=tokens, labels=tokens, use_cache=False).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    step()
    step()
    states = [value for state in optimizer.state.values() for value in state.values() if value.dim()]
    stay = [local(tensor) for tensor in (*network.parameters(), *states, *_scales(network))]
    held = storage_bytes(stay)
    return held, cpu_allocator_peak(step, held)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", CASES)
def test_the_peak_of_adapters_under_fsdp2_is_pytorchs(mesh: DeviceMesh, name: str) -> None:
    shape, batch, sequence, method, adapters, base, checkpointed, precision = CASES[name]
    ledger = training_memory(
        shape, batch=batch, sequence=sequence, precision=precision, dp=REPLICAS, zero=3,
        update="fused", backend="cpu", checkpointing="full" if checkpointed else "none", method=method, lora_rank=16,
        adapter_format=adapters, base_format=base,
    )  # fmt: skip
    held, peak = measured(mesh, CASES[name])
    assert ledger.component("parameters") + ledger.component("optimizer") == held
    assert ledger.allocated_peak == pytest.approx(peak, rel=0.01)
    assert ledger.peak.name.endswith(name.split(",")[0])


def test_scales_of_four_bits_and_short_adapters_are_not_divided() -> None:
    words: dict[str, Any] = {"method": "qlora", "batch": 1, "sequence": 512, "lora_rank": 4}
    alone = {t.name: t for t in training_memory("llama3-8b", **words).tensors}
    shared = {t.name: t for t in training_memory("llama3-8b", dp=16, zero=3, **words).tensors}
    query = "blocks.*.attn.q_proj"
    assert shared[f"{query}.weight"].elements * 16 == alone[f"{query}.weight"].elements
    assert shared[f"{query}.weight.absmax"].elements == alone[f"{query}.weight.absmax"].elements
    assert shared[f"{query}.lora_A.weight"].elements * 4 == alone[f"{query}.lora_A.weight"].elements  # rank 4


@pytest.mark.parametrize("words", [{}, {"dp": 4}, {"dp": 4, "zero": 2}, {"dp": 4, "zero": 3}], ids=str)
def test_what_is_not_in_four_bits_has_sixteen_where_weights_are_divided(words: dict[str, Any]) -> None:
    """TRL, axolotl and LLaMA-Factory leave out peft's preparation there, which makes it FP32 elsewhere."""
    divided = words.get("zero") == 3
    found = training_memory("llama3-8b", method="qlora", sequence=512, **words)
    kept = {t.dtype.name for t in found.tensors if t.part == "frozen" and t.component == "parameters"}
    assert kept == {"bf16" if divided else "fp32"}
    adapters = {t.dtype.name for t in found.tensors if t.part == "adapter"}
    assert adapters == {"fp32"}  # which accelerate makes FP32 again under its mixed precision
    asked = training_memory("llama3-8b", method="qlora", sequence=512, base_format="fp32", **words)
    assert (asked.allocated_peak > found.allocated_peak) is divided
    assert (asked.allocated_peak == found.allocated_peak) is not divided


@pytest.mark.parametrize("base", [None, "fp32", "16-bit"])
def test_what_is_divided_anew_changes_the_format_of_what_is_not_in_four_bits(base: str | None) -> None:
    """As a setup of words has it where nobody says a format; one that somebody chose stays if it was another."""
    words: dict[str, Any] = {"model": "llama3-8b", "gpu": "h100-sxm", "sequence": 512, "method": "qlora", "dp": 4}
    before = setup(**words, base_format=base)
    assert changed(before, {"zero": 3}) == setup(**words, zero=3, base_format="16-bit")
    if base is None:
        assert changed(before, {"zero": 3}) == setup(**words, zero=3)
        assert changed(setup(**words, zero=3), {"zero": 1}) == setup(**words, zero=1)
        assert changed(setup(**words | {"method": "lora"}, zero=3), {"method": "qlora"}) == setup(**words, zero=3)


def test_gathering_four_bits_takes_less_time_than_sixteen() -> None:
    words: dict[str, Any] = {"batch": 1, "sequence": 16, "dp": 16, "zero": 3, "node_size": 8}
    sent = {
        method: (time := job_time("llama3-8b", method=method, **words)).data + time.hidden
        for method in ("lora", "qlora", "full")
    }
    assert sent["qlora"] < 0.6 * sent["lora"]  # embedding and head stay as they are
    assert sent["lora"] < sent["full"]
