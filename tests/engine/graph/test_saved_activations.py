"""Saved activations: the engine's operation lists against what PyTorch's autograd really keeps, to the byte.

Models run under `FakeTensorMode`, which does PyTorch's bookkeeping without data, so shapes can be large and no GPU is
needed. A tensor is counted once by its storage; parameters and buffers are not counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

from gpu_bench.measure.gpt2 import GPT2, GPT2Config
from ironlaw import Transformer, training_memory

BATCH, SEQUENCE = 3, 128
PRECISIONS = ("fp32", "bf16", "amp-bf16")
Attention = Literal["flash", "standard"]
GPT2_SHAPE = Transformer("gpt2-like", layers=2, hidden=256, heads=4, vocab=1000, max_seq=512)
LLAMA_SHAPES = {
    "llama-mha": {"kv_heads": 4, "tied": False, "qkv_bias": False},
    "llama-gqa": {"kv_heads": 2, "tied": False, "qkv_bias": False},
    "llama-mqa": {"kv_heads": 1, "tied": False, "qkv_bias": False},
    "qwen2-gqa": {"kv_heads": 2, "tied": True, "qkv_bias": True},
}


def saved_bytes(
    build: Callable[[], torch.nn.Module],
    precision: str,
    run: Callable[[Any, torch.Tensor], object],
    batch: int = BATCH,
    sequence: int = SEQUENCE,
) -> int:
    """Bytes that a forward pass with loss leaves saved for backward."""
    with FakeTensorMode(), _default_dtype(torch.bfloat16 if precision == "bf16" else torch.float32):
        network = build().train()
        tokens = torch.zeros(batch, sequence, dtype=torch.long)
        own = {t.untyped_storage()._cdata for t in itertools.chain(network.parameters(), network.buffers())}
        kept: dict[int, torch.UntypedStorage] = {}  # holding the storages keeps their addresses from being reused

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            if storage._cdata not in own:
                kept.setdefault(storage._cdata, storage)
            return tensor

        with (
            torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
            torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "amp-bf16"),
        ):
            run(network, tokens)
        return sum(storage.nbytes() for storage in kept.values())


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def gpt2(shape: Transformer, attention: Attention, dropout: float) -> Callable[[], GPT2]:
    """The benchmark's own model file at a given shape."""
    config = GPT2Config(
        layers=shape.layers, heads=shape.heads, hidden=shape.hidden, vocab=shape.vocab, max_seq=shape.max_seq,
        bias=shape.bias, dropout=dropout, attention=attention,
    )  # fmt: skip
    return lambda: GPT2(config)


def llama(shape: Transformer, attention: Attention, dropout: float) -> Callable[[], torch.nn.Module]:
    """Hugging Face's Llama, or its Qwen2 where query, key and value have biases, at a given shape."""
    family: tuple[Any, Any] = (LlamaConfig, LlamaForCausalLM)
    if shape.qkv_bias:
        family = (Qwen2Config, Qwen2ForCausalLM)
    config, network = family
    settings = config(
        num_hidden_layers=shape.layers, hidden_size=shape.hidden, num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads, intermediate_size=shape.ffn, vocab_size=shape.vocab,
        max_position_embeddings=shape.max_seq, attention_dropout=dropout, tie_word_embeddings=shape.tied,
        attn_implementation="sdpa" if attention == "flash" else "eager",
    )  # fmt: skip
    return lambda: network(settings)


def llama_shape(name: str, **changes: int) -> Transformer:
    shape: dict[str, Any] = {"layers": 2, "hidden": 256, "heads": 4, "vocab": 1000, "max_seq": 512, "ffn": 640}
    kind = {"position": "rope", "norm": "rmsnorm", "mlp": "swiglu", "bias": False}
    return Transformer(name, **(shape | kind | LLAMA_SHAPES[name] | changes))


def run_gpt2(network: GPT2, tokens: torch.Tensor) -> object:
    return network(tokens, torch.zeros_like(tokens))


def run_llama(network: Any, tokens: torch.Tensor) -> object:
    return network(input_ids=tokens, labels=tokens)


configurations = pytest.mark.parametrize(
    ("precision", "attention", "dropout"),
    list(itertools.product(PRECISIONS, ("flash", "standard"), (0.0, 0.1))),
)


@configurations
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
def test_gpt2_keeps_exactly_the_bytes_pytorch_keeps(
    precision: str, attention: Attention, dropout: float, bias: bool
) -> None:
    shape = Transformer("t", layers=2, hidden=256, heads=4, vocab=1000, max_seq=512, bias=bias)
    measured = saved_bytes(gpt2(shape, attention, dropout), precision, run_gpt2)
    ledger = training_memory(
        shape, precision=precision, batch=BATCH, sequence=SEQUENCE, attention=attention, dropout=dropout, backend="cpu"
    )
    assert ledger.saved_bytes == measured


@configurations
@pytest.mark.parametrize("name", LLAMA_SHAPES)
def test_llama_keeps_exactly_the_bytes_pytorch_keeps(
    name: str, precision: str, attention: Attention, dropout: float
) -> None:
    shape = llama_shape(name)
    measured = saved_bytes(llama(shape, attention, dropout), precision, run_llama)
    ledger = training_memory(
        shape, precision=precision, batch=BATCH, sequence=SEQUENCE, attention=attention, dropout=dropout, backend="cpu"
    )
    assert ledger.saved_bytes == measured


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("change", ["layers", "batch", "sequence"])
def test_every_slope_is_pytorchs_own(change: str, precision: str) -> None:
    """Growth with depth, batch and sequence apart from the constant: a wrong constant cannot hide a wrong slope."""
    base = {"layers": 2, "batch": 2, "sequence": 64}
    more = base | {change: 2 * base[change]}
    shapes = [Transformer("t", p["layers"], 256, 4, 1000, 512) for p in (base, more)]
    measured = [
        saved_bytes(gpt2(s, "standard", 0.1), precision, run_gpt2, p["batch"], p["sequence"])
        for s, p in zip(shapes, (base, more), strict=True)
    ]
    computed = [
        training_memory(
            s, precision=precision, batch=p["batch"], sequence=p["sequence"], attention="standard", dropout=0.1,
            backend="cpu",
        ).saved_bytes
        for s, p in zip(shapes, (base, more), strict=True)
    ]  # fmt: skip
    assert computed[1] - computed[0] == measured[1] - measured[0] > 0


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_llama_3_8b_layer_keeps_about_24_hidden_states_in_bf16(precision: str) -> None:
    """Calculators in use say 16 to 17. The figure is the growth from one layer to two, in 16-bit hidden states."""
    shapes = [
        Transformer(
            "t", layers, 4096, 32, 128, 8192, kv_heads=8, ffn=14336, position="rope", norm="rmsnorm", mlp="swiglu",
            tied=False, bias=False,
        )
        for layers in (1, 2)
    ]  # fmt: skip
    one, two = (saved_bytes(llama(s, "flash", 0.0), precision, run_llama, 1, 1024) for s in shapes)
    computed = [
        training_memory(s, precision=precision, batch=1, sequence=1024, backend="cpu").saved_bytes for s in shapes
    ]
    assert computed[1] - computed[0] == two - one
    if precision == "bf16":
        assert (two - one) / (2 * 4096 * 1024) == pytest.approx(24.5, abs=0.1)


def test_shapes_agree_with_the_networks() -> None:
    with FakeTensorMode():
        network = gpt2(GPT2_SHAPE, "flash", 0.0)()
        named = {name: tuple(p.shape) for name, p in network.named_parameters()}
        assert named == {
            p.name.replace("*", str(layer)): p.shape for p in GPT2_SHAPE.parameter_tensors for layer in range(p.count)
        }
        for name in LLAMA_SHAPES:
            shape = llama_shape(name)
            assert sum(p.numel() for p in llama(shape, "flash", 0.0)().parameters()) == shape.parameters
