"""Operation counts against PyTorch's counter and against the papers' closed forms."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from gpu_bench.measure.gpt2 import GPT2, GPT2Config
from ironlaw.core.errors import EngineError
from ironlaw.graph.operations import (
    count_operations,
    flops_per_token,
    korthikanti_model_flops,
    megatron_flops,
    product_parameters,
    total_flops,
    utilization,
)
from ironlaw.models.transformer import Transformer, model

shapes = st.tuples(st.integers(1, 6), st.sampled_from([32, 64, 96]), st.integers(2, 4), st.integers(50, 300))


def counted_by_torch(config: GPT2Config, batch: int, sequence: int, recompute: bool = False) -> tuple[int, int]:
    """Forward and total matrix-product FLOPs of a training step by `FlopCounterMode`, on meta tensors."""
    with torch.device("meta"):
        network = GPT2(config)
        tokens = torch.zeros(batch, sequence, dtype=torch.long)
    if recompute:
        for block in network.blocks:
            block.forward = partial(checkpoint, block.forward, use_reentrant=False)
    with FlopCounterMode(display=False) as counter:
        _, loss = network(tokens, tokens)
        forward = counter.get_total_flops()
        loss.backward()
    return forward, counter.get_total_flops()


def megatron_parameters(layers: int, hidden: int, vocab: int, sequence: int) -> float:
    """Parameters of a GPT. Source: Narayanan et al. 2021, arXiv 2104.04473, equation 2."""
    ratio = 1 + 13 / (12 * hidden) + (vocab + sequence) / (12 * layers * hidden)
    return 12 * layers * hidden**2 * ratio


def korthikanti_hardware_flops(batch: int, sequence: int, layers: int, hidden: int, vocab: int) -> float:
    """FLOPs of a GPT step with selective recomputation. Source: Korthikanti et al. 2022, arXiv 2205.05198, equation 8.

    The recomputed part is attention's two products, once forward and, by the paper's count, as much again backward.
    """
    return 72 * batch * layers * sequence * hidden**2 * (1 + sequence / (3 * hidden) + vocab / (12 * hidden * layers))


def as_model(config: GPT2Config) -> Transformer:
    return Transformer("test", config.layers, config.hidden, config.heads, config.vocab, config.max_seq)


@pytest.mark.parametrize("recompute", [False, True])
@settings(max_examples=10)
@given(shape=shapes, batch=st.integers(1, 4), sequence=st.integers(1, 64))
def test_counts_equal_pytorchs_counter(
    recompute: bool, shape: tuple[int, int, int, int], batch: int, sequence: int
) -> None:
    layers, head, heads, vocab = shape
    config = GPT2Config(layers, heads, heads * head, vocab, 64, attention="standard")
    forward, total = counted_by_torch(config, batch, sequence, recompute)
    policy = "full" if recompute else "none"
    ours = count_operations(as_model(config), batch, sequence, attention="standard", checkpointing=policy)
    assert ours.forward == forward
    assert ours.hardware == total


@pytest.mark.parametrize(
    ("name", "flops"), [("gpt2", 8.55e8), ("gpt2-medium", 2.43e9), ("gpt2-large", 5.20e9), ("gpt2-xl", 1.028e10)]
)
def test_flops_per_token_of_the_gpt2_family(name: str, flops: float) -> None:
    assert flops_per_token(model(name), 1024) == pytest.approx(flops, rel=0.003)


@pytest.mark.parametrize("name", ["gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"])
def test_the_rule_6n_12lht_agrees_with_the_exact_list_within_a_permille(name: str) -> None:
    exact = count_operations(model(name), 1, 1024, attention="standard").model / 1024
    assert flops_per_token(model(name), 1024) == pytest.approx(exact, rel=1e-3)
    causal = count_operations(model(name), 1, 1024, attention="standard", causal=True).model / 1024
    assert flops_per_token(model(name), 1024, causal=True) == pytest.approx(causal, rel=1e-3)


def test_tied_table_counts_and_position_table_does_not() -> None:
    gpt2 = model("gpt2")
    assert product_parameters(gpt2) == gpt2.parameters - 1024 * 768


def test_pytorch_checkpointing_costs_3_53_forward_passes_on_gpt2_small_not_4() -> None:
    counted = count_operations(model("gpt2"), 1, 1024, attention="standard", checkpointing="full")
    assert counted.hardware / counted.forward == pytest.approx(3.53, abs=0.005)


def test_flash_attention_does_not_reduce_operations() -> None:
    flash = count_operations(model("gpt2"), 1, 1024, attention="flash")
    standard = count_operations(model("gpt2"), 1, 1024, attention="standard")
    assert flash.model == standard.model
    assert flash.hardware > standard.hardware


@given(layers=st.integers(1, 20), head=st.integers(1, 64), heads=st.integers(1, 32), vocab=st.integers(1, 10**5))
def test_megatron_parameters_are_exact_but_for_the_final_norm(layers: int, head: int, heads: int, vocab: int) -> None:
    h, s = head * heads, 256
    exact = Transformer("gpt", layers, h, heads, vocab, s).parameters
    assert megatron_parameters(layers, h, vocab, s) + 2 * h == pytest.approx(exact)


@given(layers=st.integers(1, 20), head=st.integers(1, 64), heads=st.integers(1, 32), vocab=st.integers(1, 10**5))
def test_megatron_flops_are_four_forward_passes_of_the_blocks_and_three_of_the_head(
    layers: int, head: int, heads: int, vocab: int
) -> None:
    h, b, s = head * heads, 3, 128
    gpt = Transformer("gpt", layers, h, heads, vocab, s)
    forward = count_operations(gpt, b, s, attention="standard").forward
    output_head = 2 * b * s * h * vocab
    assert megatron_flops(b, s, layers, h, vocab) == pytest.approx(4 * (forward - output_head) + 3 * output_head)
    assert korthikanti_model_flops(b, s, layers, h, vocab) == pytest.approx(3 * forward)


@pytest.mark.parametrize(
    ("layers", "hidden", "heads", "mfu", "hfu"),
    [
        (48, 6144, 64, 41.5, 43.7),
        (96, 12288, 96, 51.4, 52.8),
        (105, 20480, 128, 56.0, 57.0),
        (128, 25600, 160, 56.3, 57.0),
    ],
)
def test_korthikanti_hardware_over_model_flops_is_the_papers_hfu_over_mfu(
    layers: int, hidden: int, heads: int, mfu: float, hfu: float
) -> None:
    # arXiv 2205.05198, table 5 (22B, 175B, 530B, 1T; s = 2048, V = 51200).
    assert hidden % heads == 0
    ratio = korthikanti_hardware_flops(1, 2048, layers, hidden, 51200) / korthikanti_model_flops(
        1, 2048, layers, hidden, 51200
    )
    assert ratio == pytest.approx(hfu / mfu, rel=0.01)


def test_palm_540b_reaches_46_percent() -> None:
    # arXiv 2204.02311, section 4.1 and appendix B: 238.3 K tokens/s on 6,144 TPU v4; attention included, 46.2 %.
    palm = Transformer(
        "palm-540b", 118, 18432, 48, 256000, 2048, kv_heads=1, head_size=256, position="rope", mlp="swiglu", bias=False
    )
    per_token = 6 * 540.35e9 + 12 * 118 * palm.query_width * 2048
    assert utilization(238.3e3 * per_token, 1.0, 275e12, 6144) == pytest.approx(0.462, abs=0.001)


def test_chapters_1200_tokens_per_second_are_3_5_percent_of_an_a100() -> None:
    per_second = 1200 * flops_per_token(model("gpt2-xl"), 1024)
    assert utilization(per_second, 1.0, 312e12) == pytest.approx(0.0395, abs=0.0005)
    assert total_flops(1.5e9, 1200) / 312e12 == pytest.approx(0.035, abs=0.0005)


def test_counts_take_arrays() -> None:
    batch: Any = np.array([1, 2, 8])
    counted = count_operations(model("gpt2"), batch, 512)
    assert np.array_equal(counted.forward, [count_operations(model("gpt2"), int(b), 512).forward for b in batch])


def test_bad_input_is_one_line() -> None:
    with pytest.raises(EngineError, match="batch 0 is not allowed"):
        count_operations(model("gpt2"), 0, 1024)
    with pytest.raises(EngineError, match="allowed: none, selective, full"):
        count_operations(model("gpt2"), 1, 1024, checkpointing="half")
