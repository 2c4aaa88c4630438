"""Implementations that are not ours, trained by the same step on the same text under the same clock.

All are optional packages. What cannot be imported is `unsupported`, with the line that says what to install.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpu_bench.cases.sizes import GPT2Config
from gpu_bench.measure.gpt2 import GPT2
from gpu_bench.measure.techniques.fp8 import linear_layers
from gpu_bench.measure.unsupported import UnsupportedError


def package(name: str) -> Any:
    """An optional package. Raises `UnsupportedError` when it is not there or does not load."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # a package built for another PyTorch fails in ways of its own
        top = name.partition(".")[0]
        raise UnsupportedError(f"package {top} does not load ({error}): python -m pip install {top}") from error


class TransformersGPT2(nn.Module):
    """GPT-2 of the package `transformers`, drawn at random from its configuration; nothing is downloaded."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        transformers = package("transformers")
        self.config = config
        self.peer = transformers.GPT2LMHeadModel(
            transformers.GPT2Config(
                vocab_size=config.vocab, n_positions=config.max_seq, n_embd=config.hidden, n_layer=config.layers,
                n_head=config.heads, **dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), config.dropout),
                bos_token_id=None, eos_token_id=None,
                attn_implementation="sdpa" if config.attention == "flash" else "eager",
            )
        )  # fmt: skip

    def forward(self, tokens: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens and targets (B, T) to logits (B, T, V) and the mean loss, in FP32 as the package computes it."""
        logits: Tensor = self.peer(input_ids=tokens, use_cache=False).logits
        return logits, functional.cross_entropy(logits.view(-1, logits.size(-1)).float(), targets.reshape(-1))

    def parameter_count(self) -> int:
        """Number of parameters; the shared matrix counts once."""
        return sum(parameter.numel() for parameter in self.parameters())


def convert_by_torchao(model: GPT2) -> None:
    """Make the blocks' linear layers those of `torchao`: FP8, one scale per tensor. Untried compiled and on a GPU."""
    layers = {id(layer) for _, _, layer in linear_layers(model)}
    float8 = package("torchao.float8")
    config = float8.Float8LinearConfig.from_recipe_name("tensorwise")
    float8.convert_to_float8_training(model, config=config, module_filter_fn=lambda module, _: id(module) in layers)


def eight_bit_by_torchao(parameters: Iterable[nn.Parameter], **how: Any) -> torch.optim.Optimizer:
    """AdamW of `torchao` with moments in 8 bit: one scale for 256 elements. It compiles its own update."""
    optimizer: torch.optim.Optimizer = package("torchao.optim").AdamW8bit(parameters, **how)
    return optimizer


def liger_head(norm: nn.Module, head: nn.Linear, x: Tensor, targets: Tensor) -> tuple[None, Tensor]:
    """Head and loss as one kernel of Liger, which never has all logits. Untried: needs a GPU."""
    kernel = package("liger_kernel.transformers").LigerFusedLinearCrossEntropyLoss()
    x = norm(x).to(torch.bfloat16)  # (B, T, C)
    loss: Tensor = kernel(head.weight.to(torch.bfloat16), x.reshape(-1, x.shape[-1]), targets.reshape(-1))
    return None, loss
