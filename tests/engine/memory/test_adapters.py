"""Adapters, 4-bit weights and frozen parts against peft, bitsandbytes and PyTorch's own accounts, to the byte."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributed._tools.mem_tracker import MemTracker

from gpu_bench.measure.gpt2 import GPT2, GPT2Config
from ironlaw import Transformer, estimate, model, training_memory
from tests.engine.memory.adapted import (
    BATCH,
    FORMATS,
    LLAMA,
    SEQUENCE,
    forward,
    in_four_bits,
    kept_by,
    llama,
    with_adapters,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing", "ignore:.*_check_is_size")
RANK = 4
CASES = [
    (precision, base, targets, dora, 0.0, "flash")
    for precision, base in (("fp32", "fp32"), ("bf16", "16-bit"), ("amp-bf16", "16-bit"), ("amp-bf16", "fp32"))
    for targets in ("all-linear", "q_proj,v_proj")
    for dora in (False, True)
] + [("bf16", "16-bit", "all-linear", False, 0.1, "flash"), ("amp-bf16", "16-bit", "mlp", False, 0.1, "standard")]


def account(**words: Any) -> Any:
    return training_memory(
        LLAMA, batch=BATCH, sequence=SEQUENCE, backend="cpu", **({"lora_rank": RANK} if "method" in words else {}),
        **words,
    )  # fmt: skip


def require_its_bytes(ledger: Any, network: Any, kept: int, *, quantized: int = 0) -> None:
    """Kept for backward, parameters, gradients and AdamW's states are those of a network that has done a step."""
    trained = [p for p in network.parameters() if p.requires_grad]
    assert ledger.saved_bytes == kept
    assert ledger.component("parameters") == _bytes(network.parameters()) + quantized
    assert ledger.component("gradients") == _bytes(p.grad for p in network.parameters() if p.grad is not None)
    update = torch.optim.AdamW(trained)
    update.step()
    vectors = [one for state in update.state.values() for name, one in state.items() if name != "step"]
    assert ledger.component("optimizer") == _bytes(vectors)


def _bytes(tensors: Any) -> int:
    return sum(t.untyped_storage().nbytes() for t in {t.untyped_storage()._cdata: t for t in tensors}.values())


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("precision", "base", "targets", "dora", "dropout", "attention"), CASES)
def test_adapters_are_pefts(
    precision: str, base: str, targets: str, dora: bool, dropout: float, attention: str
) -> None:
    modules = "gate_proj,up_proj,down_proj" if targets == "mlp" else targets
    network = llama(LLAMA, FORMATS[base], "sdpa" if attention == "flash" else "eager")
    network = with_adapters(network, modules, rank=RANK, dora=dora, dropout=dropout)
    kept = kept_by(network, lambda: forward(network), autocast=precision.startswith("amp"))
    ledger = account(
        precision=precision, method="lora", lora_targets=targets, base_format=base, dora=dora, lora_dropout=dropout,
        attention=attention,
    )  # fmt: skip
    require_its_bytes(ledger, network, kept)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dora", [False, True], ids=["lora", "dora"])
@pytest.mark.parametrize(("block", "nested"), [(64, True), (256, False)])
@pytest.mark.parametrize("precision", ["fp32", "amp-bf16"])
def test_four_bits_are_those_of_bitsandbytes(precision: str, block: int, nested: bool, dora: bool) -> None:
    compute = torch.bfloat16 if precision == "amp-bf16" else torch.float32
    network = in_four_bits(llama(LLAMA, torch.float32), compute, block=block, nested=nested)
    states = [module.weight.quant_state for module in network.modules() if hasattr(module, "quant_state")]
    tensors = [t for state in states for t in (state.absmax, state.code, *_nested(state))]
    quantized = _bytes(tensors)
    network = with_adapters(network, "all-linear", rank=RANK, dora=dora)
    kept = kept_by(network, lambda: forward(network), autocast=precision == "amp-bf16")
    ledger = account(
        precision=precision, method="qlora", quantization_block=block, double_quantization=nested, dora=dora
    )
    assert len(states) == 7 * LLAMA.layers
    require_its_bytes(ledger, network, kept, quantized=quantized)


def _nested(state: Any) -> list[torch.Tensor]:
    return [state.state2.absmax, state.state2.code, state.offset] if state.nested else []


@pytest.mark.parametrize("precision", ["fp32", "amp-bf16"])
@pytest.mark.parametrize(
    "frozen",
    ["wpe", "wte", "wte,wpe", "wte,wpe,blocks.0,blocks.1.attn", "blocks.*.mlp", "wpe,blocks,ln_f", "*.bias"],
)
def test_what_is_frozen_has_no_gradient_and_keeps_nothing(frozen: str, precision: str) -> None:
    shape = Transformer("t", layers=3, hidden=64, heads=4, vocab=97, max_seq=64)
    config = GPT2Config(layers=3, hidden=64, heads=4, vocab=97, max_seq=64, attention="flash")
    network, alike = GPT2(config).train(), Names(frozen)
    for name, parameter in network.named_parameters():
        parameter.requires_grad_(alike.trains(name))
    tokens = torch.zeros(BATCH, SEQUENCE, dtype=torch.long)
    kept = kept_by(network, lambda: network(tokens, torch.zeros_like(tokens))[1], autocast=precision == "amp-bf16")
    ledger = training_memory(shape, batch=BATCH, sequence=SEQUENCE, backend="cpu", precision=precision, frozen=frozen)
    require_its_bytes(ledger, network, kept)


class Names:
    """Which parameters a list of patterns leaves to train, by a plain rule of its own: parts of dotted names."""

    def __init__(self, frozen: str) -> None:
        self._patterns = [pattern.split(".") for pattern in frozen.split(",")]

    def trains(self, name: str) -> bool:
        parts = name.split(".")
        return not any(self._within(pattern, parts) for pattern in self._patterns)

    @staticmethod
    def _within(pattern: list[str], parts: list[str]) -> bool:
        starts = range(len(parts) - len(pattern) + 1)
        return any(all(p.strip("*") in ("", q) for p, q in zip(pattern, parts[at:], strict=False)) for at in starts)


class Tracker(MemTracker):  # type: ignore[no-untyped-call]
    """PyTorch's tracker, which cannot put its hooks on frozen parameters; it then does not tell gradients apart."""

    def _track_module_params_and_buffers(
        self, module: torch.nn.Module, install_grad_hooks: bool = True
    ) -> tuple[int, int]:
        return super()._track_module_params_and_buffers(module, install_grad_hooks=False)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:Module is None", "ignore:Expected a tensor")
@pytest.mark.parametrize("targets", ["all-linear", "q_proj,v_proj"])
def test_the_peak_with_adapters_is_pytorchs(targets: str) -> None:
    shape = replace(LLAMA, layers=4, hidden=128, head_size=32, ffn=344, max_seq=256)
    network = with_adapters(llama(shape, torch.float32), targets, rank=RANK)
    update = torch.optim.AdamW([p for p in network.parameters() if p.requires_grad], foreach=True)
    tracker = Tracker()
    tracker.track_external(network, update)
    with tracker:
        for _step in range(2):
            loss = forward(network, 4, 128)
            loss.backward()  # type: ignore[no-untyped-call]
            del loss
            tracker.reset_mod_stats()
            update.step()
            update.zero_grad(set_to_none=True)
    (snapshot,) = tracker.get_tracker_snapshot("peak").values()
    ledger = training_memory(
        shape, batch=4, sequence=128, backend="cpu", precision="fp32", update="foreach", method="lora",
        lora_rank=RANK, lora_targets=targets,
    )  # fmt: skip
    assert ledger.allocated_peak == pytest.approx(snapshot["Total"], rel=0.005)


@given(
    st.sampled_from(["gpt2-xl", "llama3-8b", "llama2-7b"]),
    st.integers(1, 64),
    st.sampled_from(["all-linear", "q_proj,v_proj", "attn", "mlp"]),
    st.booleans(),
)
def test_adapters_have_their_papers_count(name: str, rank: int, targets: str, dora: bool) -> None:
    """r (inputs + outputs) a matrix (LoRA, arXiv 2106.09685, section 4.1), and with DoRA a length for each row."""
    if "q_proj" in targets and "gpt2" in name:
        targets = "c_attn"
    words: dict[str, Any] = {"method": "lora", "lora_rank": rank, "lora_targets": targets, "dora": dora}
    ledger = training_memory(name, batch=1, sequence=128, **words)
    wanted = 0
    for p in model(name).parameter_tensors:
        parts = p.name.split(".")
        if (
            p.role == "matrix"
            and parts[0] == "blocks"
            and (targets == "all-linear" or set(targets.split(",")) & {*parts})
        ):
            wanted += p.count * (rank * sum(p.shape) + (p.shape[0] if dora else 0))
    assert 4 * wanted == ledger.component("gradients") == ledger.component("optimizer") / 2
    assert ledger.component("gradients") < ledger.component("parameters")


def test_a_step_of_adapters_does_two_thirds_of_the_products_at_most_and_no_more_time() -> None:
    """Frozen matrices have no gradient of their own; adapters add little."""
    full, lora = (estimate("llama3-8b", "h200", batch=1, sequence=2048, **w) for w in ({}, {"method": "lora"}))
    share = lora.flops.model_per_step / full.flops.model_per_step
    assert 2 / 3 < share < 0.75
    assert lora.time.step_s < full.time.step_s


def test_four_bits_take_time_to_be_made_whole() -> None:
    lora, qlora = (estimate("llama3-8b", "h200", batch=1, sequence=2048, method=m) for m in ("lora", "qlora"))
    assert qlora.time.step_s > lora.time.step_s
    assert qlora.memory_bytes.parameters < lora.memory_bytes.parameters
    assert qlora.memory_bytes.activations > lora.memory_bytes.activations
