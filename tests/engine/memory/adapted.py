"""Real networks with adapters or frozen parts, and what a training step of theirs keeps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import LlamaConfig, LlamaForCausalLM

from ironlaw import Transformer

BATCH, SEQUENCE = 2, 24
LLAMA = Transformer(
    "tiny-llama", layers=3, hidden=64, heads=4, vocab=97, max_seq=64, kv_heads=2, ffn=160, position="rope",
    norm="rmsnorm", mlp="swiglu", tied=False, bias=False,
)  # fmt: skip
FORMATS = {"fp32": torch.float32, "16-bit": torch.bfloat16}


def llama(shape: Transformer, dtype: torch.dtype, attention: str = "sdpa") -> Any:
    """Hugging Face's Llama at a shape."""
    family: Any = LlamaConfig
    config = family(
        num_hidden_layers=shape.layers, hidden_size=shape.hidden, num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads, intermediate_size=shape.ffn, vocab_size=shape.vocab,
        max_position_embeddings=shape.max_seq, tie_word_embeddings=shape.tied, attn_implementation=attention,
        use_cache=False,
    )  # fmt: skip
    with default_dtype(dtype):
        return LlamaForCausalLM(config).train()


def with_adapters(network: Any, targets: str, *, rank: int = 4, dora: bool = False, dropout: float = 0.0) -> Any:
    """peft's adapters beside a network's matrices."""
    modules = targets if targets == "all-linear" else targets.split(",")
    config = LoraConfig(
        r=rank, target_modules=modules, use_dora=dora, lora_dropout=dropout, task_type="CAUSAL_LM", lora_alpha=rank
    )
    return get_peft_model(network, config)


def trained(shape: Transformer, precision: str, method: str) -> tuple[Any, dict[str, Any]]:
    """Hugging Face's Llama, all of it trained or adapters alone (`"lora"`), with the engine's words for the latter."""
    base = "16-bit" if precision == "bf16" else "fp32"
    network = llama(shape, FORMATS[base])
    if method != "lora":
        return network, {}
    return with_adapters(network, "all-linear"), {"method": "lora", "lora_rank": 4, "base_format": base}


def in_four_bits(network: Any, compute: torch.dtype, *, block: int = 64, nested: bool = True) -> Any:
    """A network whose blocks' matrices are bitsandbytes' own, prepared by peft as for QLoRA."""
    import bitsandbytes

    layers: Any = bitsandbytes.nn
    for module in list(network.model.layers.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.Linear):
                four = layers.Linear4bit(
                    child.in_features, child.out_features, bias=child.bias is not None, compute_dtype=compute,
                    compress_statistics=nested, quant_type="nf4",
                )  # fmt: skip
                four.weight = layers.Params4bit(
                    child.weight.data, requires_grad=False, quant_type="nf4", compress_statistics=nested,
                    blocksize=block,
                ).to("cpu")  # fmt: skip
                four.train()
                setattr(module, name, four)
    network.is_loaded_in_4bit = True
    prepare: Any = prepare_model_for_kbit_training
    return prepare(network, use_gradient_checkpointing=False)


class _Kept:
    """What autograd holds in a saved tensor's place: it dies with the node that holds it."""

    def __init__(self, tensor: torch.Tensor, alive: dict[int, tuple[int, int]]) -> None:
        self.tensor, self._alive, self._key = tensor, alive, id(self)
        storage = tensor.untyped_storage()
        alive[self._key] = (storage._cdata, storage.nbytes())

    def __del__(self) -> None:
        self._alive.pop(self._key, None)


def kept_by(network: Any, run: Callable[[], torch.Tensor], *, autocast: bool) -> int:
    """Bytes that autograd holds at the end of a forward pass besides parameters, each storage once.

    Nodes that no loss depends on have died by then, and what they saved with them.
    """
    own = {t.untyped_storage()._cdata for t in itertools.chain(network.parameters(), network.buffers())}
    alive: dict[int, tuple[int, int]] = {}
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda tensor: _Kept(tensor, alive), lambda kept: kept.tensor)
    with hooks, autocasting(enabled=autocast):
        loss = run()
        storages = dict(value for value in alive.values() if value[0] not in own)
    loss.backward()  # type: ignore[no-untyped-call]
    return sum(storages.values())


@contextmanager
def autocasting(*, enabled: bool = True) -> Iterator[None]:
    """Autocast to BF16 on the CPU, which peft asks CUDA's flag about."""
    torch.set_autocast_enabled("cuda", enabled)
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            yield
    finally:
        torch.set_autocast_enabled("cuda", False)


def forward(network: Any, batch: int = BATCH, sequence: int = SEQUENCE) -> torch.Tensor:
    """The loss of a network on a batch of tokens."""
    tokens = torch.arange(batch * sequence).reshape(batch, sequence) % 97
    loss: torch.Tensor = network(input_ids=tokens, labels=tokens).loss
    return loss


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """PyTorch's default format for a while."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
