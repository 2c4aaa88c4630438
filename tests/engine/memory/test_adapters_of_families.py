"""Adapters and frozen parts in tiny real models of several families, against peft and PyTorch's hooks, to the byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ironlaw import EngineError, setup, training_memory
from ironlaw.models import from_config
from tests.engine.graph.test_layer_kinds import FALCONS, PLAIN, network
from tests.engine.memory.adapted import BATCH, SEQUENCE, in_four_bits, kept_by, with_adapters

pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing", "ignore:.*_check_is_size")
CONFIGS = PLAIN | {"one key": ("falcon", FALCONS["one key"])}
EAGER = ("softcaps", "sinks, biased experts", "one key")
"""Families that transformers runs by plain products here."""
FOLDED = ("experts", "experts beside dense", "experts, fp32 weights", "latent", "latent, complex")
"""Those whose experts peft adapts by adding to their weights, which knows no DoRA."""
FAMILIES = [
    "grouped", "norms of heads", "before and after, two frequencies", "softcaps", *FOLDED, "sinks, biased experts",
    "gpt2", "parallel", "merged, partly rotated",
]  # fmt: skip
FORMATS = {
    "fp32": (torch.float32, "fp32"), "bf16": (torch.bfloat16, "16-bit"), "amp-bf16": (torch.float32, "fp32"),
    "amp-bf16 of 16 bits": (torch.bfloat16, "16-bit"),
}  # fmt: skip
RANK = 4


def made(name: str, dtype: torch.dtype) -> torch.nn.Module:
    kind, config = CONFIGS[name]
    return network(kind, config, "standard" if name in EAGER else "flash", dtype)


def loss_of(net: torch.nn.Module) -> Callable[[], torch.Tensor]:
    text = torch.arange(BATCH * SEQUENCE).reshape(BATCH, SEQUENCE) % 150 + 3
    return lambda: net(input_ids=text, labels=text, use_cache=False).loss


def counted(name: str, **words: Any) -> Any:
    kind, config = CONFIGS[name]
    attention = "standard" if name in EAGER else "flash"
    read = from_config({"model_type": kind, **config})
    return training_memory(read, batch=BATCH, sequence=SEQUENCE, backend="cpu", attention=attention, **words)


def require_bytes(net: torch.nn.Module, kept: int, ledger: Any) -> None:
    trained = sum(p.numel() * p.element_size() for p in net.parameters() if p.requires_grad)
    assert ledger.saved_bytes == kept
    assert ledger.component("gradients") == trained == ledger.component("optimizer") / 2
    assert ledger.component("parameters") == sum(p.numel() * p.element_size() for p in net.parameters())


@pytest.mark.sampled(14)
@pytest.mark.parametrize("formats", FORMATS)
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("dora", [False, True], ids=["lora", "dora"])
def test_a_family_with_adapters_keeps_what_pytorch_keeps(name: str, dora: bool, formats: str) -> None:
    if dora and name in FOLDED:
        with pytest.raises(EngineError, match="dora True is not allowed with model"):
            counted(name, method="lora", dora=True)
        with pytest.raises(ValueError, match="does not work with use_dora"):
            with_adapters(made(name, torch.float32), "all-linear", dora=True)
        return
    if formats == "amp-bf16 of 16 bits" and name in ("gpt2", "parallel"):
        pytest.skip("a CPU's autocast leaves a layer norm in 16 bits, CUDA's does not")
    (dtype, base), precision = FORMATS[formats], formats.partition(" ")[0]
    net = with_adapters(made(name, dtype), "all-linear", rank=RANK, dora=dora)
    kept = kept_by(net, loss_of(net), autocast=precision == "amp-bf16")
    require_bytes(net, kept, counted(
        name, method="lora", lora_rank=RANK, dora=dora, precision=precision, base_format=base
    ))  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("precision", ["fp32", "amp-bf16"])
@pytest.mark.parametrize("name", ["experts", "latent", "sinks, biased experts", "before and after, two frequencies"])
def test_attention_alone_is_adapted_beside_experts(name: str, precision: str) -> None:
    net = with_adapters(made(name, torch.float32), "o_proj", rank=RANK)
    kept = kept_by(net, loss_of(net), autocast=precision == "amp-bf16")
    words = {"method": "lora", "lora_rank": RANK, "lora_targets": "o_proj", "base_format": "fp32"}
    require_bytes(net, kept, counted(name, precision=precision, **words))


FROZEN: dict[str, Callable[[str], bool]] = {
    "wte": lambda name: "embed_tokens" in name,
    "blocks.*.attn": lambda name: "self_attn" in name,
    "blocks.*.mlp.experts": lambda name: ".experts." in name,
    "blocks.*.mlp.router": lambda name: "mlp.gate." in name or "mlp.router" in name,
    "blocks.0,wte": lambda name: "layers.0." in name or "embed_tokens" in name,
}


@pytest.mark.sampled(14)
@pytest.mark.parametrize("precision", ["fp32", "amp-bf16"])
@pytest.mark.parametrize("frozen", FROZEN)
@pytest.mark.parametrize("name", ["experts", "latent", "sinks, biased experts", "before and after, two frequencies"])
def test_a_family_with_frozen_parts_keeps_what_pytorch_keeps(name: str, frozen: str, precision: str) -> None:
    if "mlp" in frozen and "before" in name:
        pytest.skip("a dense model")
    net = made(name, torch.float32)
    for parameter, value in net.named_parameters():
        value.requires_grad_(not FROZEN[frozen](parameter))
    kept = kept_by(net, loss_of(net), autocast=precision == "amp-bf16")
    require_bytes(net, kept, counted(name, precision=precision, frozen=frozen))


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore:.*blocksize")
@pytest.mark.parametrize("name", ["experts", "latent", "before and after, two frequencies"])
@pytest.mark.parametrize("precision", ["fp32", "amp-bf16"])
def test_linear_layers_alone_are_in_four_bits(name: str, precision: str) -> None:
    """Experts and routers are parameters of their own, which bitsandbytes leaves as they are."""
    compute = torch.bfloat16 if precision == "amp-bf16" else torch.float32
    net = with_adapters(in_four_bits(made(name, torch.float32), compute), "all-linear", rank=RANK)
    kept = kept_by(net, loss_of(net), autocast=precision == "amp-bf16")
    ledger = counted(name, precision=precision, method="qlora", lora_rank=RANK, base_format="fp32")
    trained = sum(p.numel() * p.element_size() for p in net.parameters() if p.requires_grad)
    assert (ledger.saved_bytes, ledger.component("gradients")) == (kept, trained)


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("experts", {"lora_dropout": 0.1}, "lora_dropout 0.1 is not allowed with model qwen3_moe, whose experts"),
        ("experts", {"lora_targets": " , "}, "lora_targets ' , ' is not allowed; it must be a text"),
        ("experts", {"lora_targets": "mlp"}, "lora_targets 'mlp' is not allowed with model qwen3_moe"),
        ("experts beside dense", {"lora_targets": "q_proj,down_proj"}, "lora_targets 'down_proj' is not allowed with"),
        ("sinks, biased experts", {"lora_targets": "router"}, "lora_targets 'router' is not allowed with model"),
    ],
)  # fmt: skip
def test_adapters_that_peft_does_not_make_are_refused(name: str, words: dict[str, Any], message: str) -> None:
    kind, config = CONFIGS[name]
    with pytest.raises(EngineError) as error:
        setup(from_config({"model_type": kind, **config}), "h200", method="lora", **words)
    assert str(error.value).startswith(message)


def test_experts_with_adapters_have_a_whole_estimate() -> None:
    """A rank above the number of experts is allowed: it is the router's alone that is narrower."""
    from ironlaw import estimate

    kind, config = CONFIGS["experts"]
    found = estimate(setup(from_config({"model_type": kind, **config}), "h200", method="lora", lora_rank=16))
    assert found.time.step_s > 0
    assert 0 < found.memory_bytes.activations < found.memory_bytes.allocated_peak
