"""The 8-bit optimizer: its codes, its rounding errors, its state, and that it trains as AdamW does."""

from __future__ import annotations

from functools import cache, partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch._dynamo.utils import counters

from gpu_bench.measure.data import draw_windows, read_corpus
from gpu_bench.measure.techniques import flat
from gpu_bench.measure.techniques.flat import (
    BLOCK,
    SMALLEST,
    FlatAdamW,
    code_values,
    codes,
    dequantize,
    quantize,
)
from gpu_bench.measure.training import Trainer
from tests.conftest import tries
from tests.gpu_bench.tiny import tiny_case

CPU = torch.device("cpu")


@pytest.mark.parametrize("signed", [True, False])
def test_there_are_256_different_codes_dense_near_zero(signed: bool) -> None:
    values = code_values(signed)
    assert len(set(values)) == len(values) == 256
    assert values == sorted(values)
    assert (values[0], values[-1]) == (min(values), 1.0)
    assert (min(values) < 0) == signed
    assert min(abs(value) for value in values if value) < 1e-6


@settings(max_examples=tries(40))
@given(st.integers(1, 3 * BLOCK), st.floats(1e-12, 1e3), st.integers(0, 99))
def test_an_element_comes_back_within_half_a_step_of_its_decade(count: int, size: float, seed: int) -> None:
    table = codes(True, CPU)
    x = torch.randn(count, generator=torch.Generator().manual_seed(seed)) * size
    code, scales = quantize(x, table)
    assert code.dtype is torch.uint8
    assert len(scales) == -(-count // BLOCK)
    back = dequantize(code, scales, table)
    largest = scales.repeat_interleave(BLOCK)[:count]
    # The highest decade has 64 steps of 0.9 / 64; below it steps shrink with the decade, down to the smallest code.
    decade = 10.0 ** torch.ceil(torch.log10((x / largest).abs().clamp_min(1e-7)))
    finest = 0.9 / 64 * decade * 2.0 ** -torch.log10(decade)
    assert ((back - x).abs() / largest <= finest + 1e-6).all()


def test_zeros_and_the_largest_element_come_back_exactly() -> None:
    table = codes(True, CPU)
    x = torch.zeros(BLOCK + 7)
    x[5] = -3.25
    x[-1] = 2.0
    back = dequantize(*quantize(x, table), table)
    # -1 is not among the codes: the lowest lies half a step above it.
    assert back[5] == pytest.approx(-3.25, rel=0.01)
    assert back[-1] == 2.0
    assert back.count_nonzero() == 2


def test_moments_take_one_byte_an_element_and_a_scale_for_256_of_them() -> None:
    weight = nn.Parameter(torch.randn(300, 100))
    optimizer = FlatAdamW([weight], eight_bit=True)
    weight.grad = torch.randn(300, 100)
    optimizer.step()
    state = optimizer.state[weight]
    # 30,000 elements fill 117.2 blocks, and the vector the rest of the last.
    assert state["state1"].nbytes == state["state2"].nbytes == 118 * BLOCK
    assert state["scales1"].nbytes == state["scales2"].nbytes == 4 * 118


def test_small_tensors_are_updated_as_by_adamw() -> None:
    # The same formula in FP32, written as one expression: the order of roundings differs.
    start, gradients = torch.randn(SMALLEST - 1), torch.randn(5, SMALLEST - 1)
    one, other = (nn.Parameter(start.clone()) for _ in range(2))
    eight = FlatAdamW([one], eight_bit=True, lr=1e-2, betas=(0.9, 0.95), weight_decay=0.1)
    usual = torch.optim.AdamW([other], lr=1e-2, betas=(0.9, 0.95), weight_decay=0.1)
    for gradient in gradients:
        one.grad, other.grad = gradient.clone(), gradient.clone()
        eight.step()
        usual.step()
    torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_pieces_give_what_the_whole_tensor_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    start, gradient = torch.randn(5 * BLOCK + 100), torch.randn(5 * BLOCK + 100)
    results = []
    for piece in (BLOCK, 2 * BLOCK, 2048 * BLOCK):
        monkeypatch.setattr(flat, "_PIECE", piece)
        weight = nn.Parameter(start.clone())
        optimizer = FlatAdamW([weight], eight_bit=True)
        for _ in range(3):
            weight.grad = gradient.clone()
            optimizer.step()
        results.append(weight.detach())
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


def test_it_learns_real_text_as_fast_as_adamw() -> None:
    curves = {}
    for optimizer in ("adamw", "adamw-8bit"):
        trainer = Trainer(tiny_case(optimizer=optimizer, update="flat", batch=4), CPU)
        windows = draw_windows(read_corpus(2**16), 25, 4, 32, seed=1)
        curves[optimizer] = [trainer.step(trainer.load(window)).item() for window in windows]
    assert curves["adamw"][-1] < curves["adamw"][0] - 1
    # Moments are off by about a percent, and so is every step.
    assert curves["adamw-8bit"] == pytest.approx(curves["adamw"], rel=0.02)
    assert curves["adamw-8bit"] != curves["adamw"]


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.full)])
def test_a_compiled_update_gives_the_same_weights_and_is_not_compiled_again_at_every_step(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=backend))
    monkeypatch.setattr(flat, "_compiled_update", cache(flat._compiled_update.__wrapped__))
    torch._dynamo.reset()
    results = []
    for compiled in (False, True):
        torch.manual_seed(0)
        weight = nn.Parameter(torch.randn(100, 128))
        optimizer = FlatAdamW([weight], eight_bit=True, compiled=compiled)
        for _ in range(4):
            weight.grad = torch.randn(100, 128)
            optimizer.step()
            graphs = counters["stats"]["unique_graphs"]
            counters["stats"]["unique_graphs"] = 0
            results.append((weight.detach().clone(), graphs))
    for (eager, _), (fast, _) in zip(results[:4], results[4:], strict=True):
        torch.testing.assert_close(eager, fast, rtol=1e-5, atol=1e-6)
    assert [graphs for _, graphs in results[5:]] == [0, 0, 0]
    assert results[4][1] > 0
