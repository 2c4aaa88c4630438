"""Saved activations in FP8: the engine's operation lists against what torchao's linear layers really keep, to the byte.

torchao emulates the products where there is no FP8 unit; what autograd keeps is the same. On a CPU it does not see the
autocast of the CPU, so the test switches on CUDA's as well: on a GPU there is only that one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import pytest
import torch
from torchao.float8 import Float8LinearConfig, convert_to_float8_training

from ironlaw import Transformer, training_memory
from tests.engine.graph.test_saved_activations import (
    BATCH,
    GPT2_SHAPE,
    SEQUENCE,
    gpt2,
    llama,
    llama_shape,
    run_gpt2,
    run_llama,
    saved_bytes,
)


def in_fp8(build: Callable[[], torch.nn.Module], recipe: str) -> Callable[[], torch.nn.Module]:
    """The model with the blocks' linear layers converted by torchao, the head left as it is."""
    config = dataclasses.replace(Float8LinearConfig.from_recipe_name(recipe), emulate=True)
    return lambda: convert_to_float8_training(
        build(), config=config, module_filter_fn=lambda _, name: not name.endswith("head")
    )


@pytest.fixture(autouse=True)
def _autocast_of_cuda() -> Iterator[None]:
    before = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", torch.bfloat16)
    yield
    torch.set_autocast_enabled("cuda", before[0])
    torch.set_autocast_dtype("cuda", before[1])


@pytest.mark.parametrize("recipe", ["tensorwise", "rowwise"])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
def test_gpt2_in_fp8_keeps_exactly_the_bytes_torchao_keeps(recipe: str, bias: bool) -> None:
    shape = dataclasses.replace(GPT2_SHAPE, bias=bias)
    check(shape, saved_bytes(in_fp8(gpt2(shape, "flash", 0.0), recipe), "amp-bf16", run_gpt2))


def test_llama_in_fp8_keeps_exactly_the_bytes_torchao_keeps() -> None:
    shape = llama_shape("llama-gqa")
    check(shape, saved_bytes(in_fp8(llama(shape, "flash", 0.0), "tensorwise"), "amp-bf16", run_llama))


def check(shape: Transformer, measured: int) -> None:
    words = {"batch": BATCH, "sequence": SEQUENCE, "attention": "flash", "backend": "cpu"}
    assert training_memory(shape, precision="amp-fp8", **words).saved_bytes == measured
    assert training_memory(shape, precision="amp-bf16", **words).saved_bytes > measured
