"""FLOP counts against PyTorch's own counter."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

from gpu_bench.measure.gpt2 import GPT2, SIZES
from gpu_bench.predict.prediction import step_flops


def _counted(model: GPT2, batch: int, sequence: int) -> int:
    tokens = torch.randint(model.config.vocab, (batch, sequence))
    with FlopCounterMode(display=False) as counter:
        model(tokens, tokens)[1].backward()
    return int(counter.get_total_flops())


@pytest.mark.parametrize("name", ["nano", "gpt2", "gpt2-xl"])
def test_full_convention_is_what_pytorch_counts(name: str) -> None:
    # The materialised form, because the counter gives zero for fused attention on a CPU.
    config = replace(SIZES[name], attention="standard")
    with FakeTensorMode():
        model = GPT2(config)
        counted = _counted(model, 2, config.max_seq)
        # PyTorch counts products of matrices only: weights of linear layers, once per token.
        multiplied = sum(m.weight.numel() for m in model.modules() if isinstance(m, nn.Linear))
    assert counted == step_flops(multiplied, config.layers, config.hidden, config.max_seq, 2).full


def test_biases_and_norms_in_n_change_the_count_by_less_than_a_part_in_a_thousand() -> None:
    config = replace(SIZES["gpt2"], attention="standard")
    with FakeTensorMode():
        model = GPT2(config)
        counted = _counted(model, 1, 1024)
        n = model.parameter_count() - config.max_seq * config.hidden
    assert step_flops(n, 12, 768, 1024, 1).full == pytest.approx(counted, rel=1e-3)


@pytest.mark.parametrize(("name", "per_token"), [("gpt2", 8.55e8), ("gpt2-xl", 1.03e10)])
def test_flops_per_token_are_the_known_ones(name: str, per_token: float) -> None:
    config = SIZES[name]
    with FakeTensorMode():
        n = GPT2(config).parameter_count() - config.max_seq * config.hidden
    assert step_flops(n, config.layers, config.hidden, 1024, 1).full / 1024 == pytest.approx(per_token, rel=5e-3)


def test_causal_convention_saves_half_of_the_attention() -> None:
    flops = step_flops(parameters=1000, layers=2, hidden=8, sequence=16, batch=3)
    assert flops.full - flops.causal == 6 * 2 * 8 * 16 * 16 * 3
