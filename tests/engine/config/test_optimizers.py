"""Optimizer states: bytes per parameter of each rule, against PyTorch's own state where PyTorch has the rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
import torch

from gpu_bench.measure.gpt2 import GPT2, GPT2Config
from ironlaw import Transformer, list_optimizers, model, optimizer, training_memory

SHAPE = Transformer("t", 3, 256, 4, 1000, 128)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("sgd", lambda p: torch.optim.SGD(p, lr=0.1)),
        ("momentum", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
        ("rmsprop", torch.optim.RMSprop),
        ("adam", torch.optim.Adam),
        ("adamw", torch.optim.AdamW),
        ("adafactor", torch.optim.Adafactor),
    ],
)
@pytest.mark.parametrize("precision", ["fp32", "bf16", "mixed"])
def test_optimizer_state_is_pytorchs_to_the_byte(
    name: str, make: Callable[[Any], torch.optim.Optimizer], precision: str
) -> None:
    """With weights, gradients and master copy. Step counters are left out: PyTorch keeps those in host memory."""
    network = GPT2(GPT2Config(layers=3, heads=4, hidden=256, vocab=1000, max_seq=128))
    if precision != "fp32":
        network = network.bfloat16()
    weights = list(network.parameters())
    updated = [p.detach().float().requires_grad_() for p in weights] if precision == "mixed" else weights
    updater = make(updated)
    for p in {*weights, *updated}:
        p.grad = torch.zeros_like(p)
    updater.step()
    states = [
        tensor
        for entries in updater.state.values()
        for key, tensor in entries.items()
        if key != "step" and tensor is not None
    ]
    held = training_memory(SHAPE, optimizer=name, precision=precision)
    assert held.component("optimizer") == _bytes(states)
    assert held.component("parameters") == _bytes(weights)
    assert held.component("gradients") == _bytes([p.grad for p in weights])
    assert held.component("master") == (_bytes(updated) if precision == "mixed" else 0)


def _bytes(tensors: Iterable[Any]) -> int:
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors)


def test_8_bit_adams_state_is_that_of_bitsandbytes_to_the_byte() -> None:
    """Apart from the two tables of 256 values, which all tensors share."""
    import bitsandbytes

    optimizers: Any = bitsandbytes.optim
    network = GPT2(GPT2Config(layers=3, heads=4, hidden=256, vocab=1000, max_seq=128))
    updater = optimizers.AdamW8bit(network.parameters())
    for p in network.parameters():
        p.grad = torch.zeros_like(p)
    updater.step()
    kept = {
        tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes()
        for entries in updater.state.values()
        for key, tensor in entries.items()
        if key not in ("step", "qmap1", "qmap2")
    }
    assert training_memory(SHAPE, optimizer="adamw-8bit", precision="fp32").component("optimizer") == sum(kept.values())


def test_paged_states_count_as_the_hosts_where_they_are_large() -> None:
    paged, plain = (training_memory(SHAPE, optimizer=o, precision="fp32") for o in ("paged-adamw-8bit", "adamw-8bit"))
    states = [t for t in paged.tensors if t.component == "optimizer"]
    assert {t.place for t in states if t.name.endswith("c_fc.weight.state1")} == {"host"}
    assert {t.place for t in states if t.elements < 100_000} == {"device"}
    assert paged.host_bytes + paged.component("optimizer") == plain.component("optimizer")


def test_muon_keeps_one_vector_for_the_blocks_matrices_and_adams_two_for_the_rest() -> None:
    network = GPT2(GPT2Config(layers=3, heads=4, hidden=256, vocab=1000, max_seq=128))
    hidden = [p for p in network.blocks.parameters() if p.ndim == 2]
    others = [p for p in network.parameters() if not any(p is q for q in hidden)]
    for p in network.parameters():
        p.grad = torch.zeros_like(p)
    kept = 0
    updaters: tuple[Any, ...] = (torch.optim.Muon(hidden), torch.optim.AdamW(others))
    for updater in updaters:
        updater.step()
        kept += sum(
            tensor.untyped_storage().nbytes()
            for entries in updater.state.values()
            for key, tensor in entries.items()
            if key != "step"
        )
    assert training_memory(SHAPE, optimizer="muon", precision="fp32").component("optimizer") == kept


def test_8_bit_adam_takes_two_bytes_and_a_scale_per_block() -> None:
    """8 bits a state, one fp32 scale per 256 elements; small ones in fp32."""
    ledger = training_memory("gpt2-xl", optimizer="adamw-8bit", precision="bf16")
    assert ledger.static_bytes / model("gpt2-xl").parameters == pytest.approx(4 + 2 * (1 + 4 / 256), abs=0.002)
    small = {t.name: t.dtype.name for t in ledger.tensors if t.component == "optimizer"}
    assert small["blocks.*.ln_1.weight.state1"] == "fp32"
    assert small["blocks.*.mlp.c_fc.weight.state1"] == "uint8"
    assert small["blocks.*.mlp.c_fc.weight.state1.scales"] == "fp32"


def test_lion_keeps_half_of_adam() -> None:
    lion, adam = (
        training_memory("gpt2", optimizer=o, precision="fp32").component("optimizer") for o in ("lion", "adam")
    )
    assert 2 * lion == adam


def test_adafactor_keeps_a_row_and_a_column_of_each_matrix() -> None:
    ledger = training_memory("gpt2", optimizer="adafactor", precision="fp32")
    by_name = {t.name: t.elements for t in ledger.tensors if t.component == "optimizer"}
    assert by_name["blocks.*.mlp.c_fc.weight.exp_avg_sq.rows"] == 3072
    assert by_name["blocks.*.mlp.c_fc.weight.exp_avg_sq.columns"] == 768
    assert ledger.component("optimizer") < 0.01 * ledger.component("parameters")


def test_galore_keeps_m_r_and_two_n_r_per_matrix() -> None:
    """Zhao et al. 2024, arXiv 2403.03507, table 1: projector m r, states 2 n r, for an m by n matrix with m <= n."""
    ledger = training_memory("llama-7b", optimizer=replace(optimizer("galore"), rank=1024), precision="bf16")
    down = sum(t.elements for t in ledger.tensors if t.name.startswith("blocks.*.mlp.down_proj.weight."))
    weight = 4096 * 11008
    gradient_and_master = weight  # pure bf16 has no master copy, so only the gradient shares the prefix
    assert down - gradient_and_master == 4096 * 1024 + 2 * 11008 * 1024


def test_galore_leaves_matrices_of_lower_rank_alone() -> None:
    wide = training_memory(SHAPE, optimizer=replace(optimizer("galore"), rank=256), precision="fp32").component(
        "optimizer"
    )
    assert wide == training_memory(SHAPE, optimizer="adam", precision="fp32").component("optimizer")


def test_every_optimizer_names_who_defined_it() -> None:
    assert all(optimizer(name).source and optimizer(name).title for name in list_optimizers())
