"""Rooflines, kernels' traffic, and attention's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.core.errors import EngineError
from ironlaw.graph.blocks import sections
from ironlaw.graph.kernels import backward_kernels, forward_kernels
from ironlaw.hardware.accelerators import accelerator
from ironlaw.models.transformer import model
from ironlaw.numerics.precision import precision
from ironlaw.time import attention
from ironlaw.time.attention import BLOCKS_PER_TILE, causal_share, kernel_share
from ironlaw.time.roofline import attainable, intensity, least_seconds, matmul_intensity, ridge_point, step_points


def test_ridge_points_of_the_chapters_chips() -> None:
    a100, h100 = accelerator("a100-80"), accelerator("h100-sxm")
    assert ridge_point(a100.peak("bf16"), a100.bandwidth) == pytest.approx(153, abs=0.5)
    assert ridge_point(h100.peak("bf16"), h100.bandwidth) == pytest.approx(295, abs=0.5)


@given(flops=st.floats(1, 1e15), moved=st.floats(1, 1e12))
def test_the_roof_and_the_least_time_are_one_statement(flops: float, moved: float) -> None:
    peak, bandwidth = 1e15, 3e12
    rate = attainable(intensity(flops, moved), peak, bandwidth)
    assert flops / rate == pytest.approx(least_seconds(flops, moved, peak, bandwidth))


def test_square_16_bit_products_have_intensity_n_over_3() -> None:
    assert matmul_intensity(3072, 3072, 3072) == pytest.approx(1024)


def test_an_attention_projection_reads_its_weights_too() -> None:
    # The chapter's h/8 leaves the weights out: with them, 768 columns at 32 x 1,024 tokens give 379, not 96.
    assert matmul_intensity(32 * 1024, 768, 768) == pytest.approx(379, abs=1)


def test_products_are_compute_bound_and_everything_else_is_memory_bound_at_batch_32() -> None:
    points = step_points(model("gpt2"), accelerator("a100-80"), 32, 1024)
    for point in points:
        product = "matmul" if point.flops > 1e9 * point.count and point.intensity > 50 else "memory"
        assert point.bound == ("compute" if product == "matmul" else "memory"), point


def test_softmax_and_layer_norm_do_about_one_flop_per_byte() -> None:
    points = {p.name: p for p in step_points(model("gpt2"), accelerator("a100-80"), 8, 1024, attention="standard")}
    assert 0.5 < points["ln_1"].intensity < 2
    assert 0.5 < points["attn.core.softmax"].intensity < 2
    assert points["residual_1"].intensity < 0.25


@given(batch=st.integers(1, 64), sequence=st.integers(16, 1024), fused=st.booleans())
def test_backward_does_twice_the_products_of_forward(batch: int, sequence: int, fused: bool) -> None:
    for part in sections(model("gpt2"), precision("bf16"), "standard"):
        forward = sum(k.flops(batch, sequence) for k in forward_kernels(part, fused=fused) if k.kind == "matmul")
        backward = sum(k.flops(batch, sequence) for k in backward_kernels(part, fused=fused) if k.kind == "matmul")
        assert backward == 2 * forward


@pytest.mark.parametrize("mode", ["fp32", "amp-bf16", "bf16"])
@pytest.mark.parametrize("attention", ["flash", "standard"])
@pytest.mark.parametrize("batch", [1, 8, 64])
def test_fusion_moves_fewer_bytes_in_fewer_launches(mode: str, attention: Any, batch: int) -> None:
    parts = sections(model("gpt2"), precision(mode), attention)

    def totals(fused: bool) -> tuple[int, int]:
        kernels = [
            k for part in parts for k in (*forward_kernels(part, fused=fused), *backward_kernels(part, fused=fused))
        ]
        return sum(k.bytes(batch, 1024) * k.count for k in kernels), sum(k.count for k in kernels)

    eager, compiled = totals(False), totals(True)
    assert compiled[0] < eager[0]
    assert compiled[1] < eager[1]


def test_flash_attention_traffic_falls_with_on_chip_memory() -> None:
    # 100 KB of 16-bit elements, N = 4,096, d = 64: the ratio is a computed figure, not a constant.
    small, large = (attention.traffic_ratio(4096, 64, kilobytes * 512) for kilobytes in (50, 100))
    assert small == pytest.approx(2.08)
    assert large == pytest.approx(4.0)


@given(n=st.integers(64, 16384), d=st.sampled_from([32, 64, 128]), kilobytes=st.integers(32, 256))
def test_flash_never_moves_more_than_standard_when_a_block_holds_the_head(n: int, d: int, kilobytes: int) -> None:
    on_chip = kilobytes * 512
    if on_chip >= 4 * d * d and n >= 2 * d:
        assert attention.flash_elements(n, d, on_chip) <= attention.standard_elements(n, d) * 1.5
    assert attention.flash_elements(n, d, 2 * on_chip) <= attention.flash_elements(n, d, on_chip)


def test_score_matrix_of_the_chapter() -> None:
    # 4,096 x 4,096 in FP32 is 64 MiB for one head.
    assert attention.score_bytes(1, 1, 4096, 4) == 64 * 2**20


def test_causal_kernels_do_half_the_work_and_the_diagonal() -> None:
    assert causal_share(1024) == pytest.approx(0.5625)
    assert causal_share(64) == 1
    assert causal_share(2**20) == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(
    ("tokens", "flash_3", "triton_2"),
    [(512, 430.32, 328.882), (1024, 517.099, 389.723), (2048, 565.544, 433.721), (8192, 614.234, 470.732)],
)
def test_attention_kernels_speed_up_with_the_sequence_as_measured(tokens: int, flash_3: float, triton_2: float) -> None:
    # Not causal: all blocks and the fixed cost of each query block, relative to 16,384 tokens.
    def cost(n: int) -> float:
        return 1 + BLOCKS_PER_TILE * 128 / n

    for at_16k, measured in ((620.73, flash_3), (476.753, triton_2)):
        assert at_16k * cost(16384) / cost(tokens) == pytest.approx(measured, rel=0.02)


def test_a_causal_kernel_pays_for_short_sequences() -> None:
    assert kernel_share(1024) == pytest.approx(0.7875)
    assert kernel_share(16384) == pytest.approx(0.518, abs=0.001)


def test_formulas_take_arrays() -> None:
    n: Any = np.array([128, 1024, 8192])
    assert np.allclose(attention.flash_elements(n, 64, 51200), [attention.flash_elements(int(k), 64, 51200) for k in n])
    assert np.allclose(causal_share(n), [causal_share(int(k)) for k in n])
    assert np.allclose(attainable(n, 312e12, 2e12), np.minimum(312e12, n * 2e12))


def test_bad_input_is_one_line() -> None:
    with pytest.raises(EngineError, match="it must be at least 4 d = 256"):
        attention.flash_elements(1024, 64, 100)
    with pytest.raises(EngineError, match="bytes moved 0 is not allowed"):
        intensity(1.0, 0)


def test_a_layer_norm_reads_its_input_and_its_gradient_twice_in_backward() -> None:
    # Once for the input's gradient and once for the weight's and bias's, in eager PyTorch.
    block = next(part for part in sections(model("gpt2"), precision("bf16")) if part.name == "block")
    kernels = {k.name: k for k in backward_kernels(block, fused=False)}
    hidden = 2 * 1024 * 768 * 2
    assert kernels["ln_1.weight_gradient"].bytes(2, 1024) == pytest.approx(2 * hidden, rel=0.01)
    assert kernels["ln_1.gradient"].bytes(2, 1024) == pytest.approx(3 * hidden, rel=0.01)


def test_megatron_runs_norms_by_themselves_where_a_compiler_joins_them_to_the_sum_before() -> None:
    block = next(
        part
        for part in sections(model("gpt3-1.3b"), precision("megatron"), "standard", 0.1, framework="megatron")
        if part.name == "block"
    )
    by_hand = [*forward_kernels(block, fused=True, by_hand=True)]
    compiled = [*forward_kernels(block, fused=True)]
    assert sum(k.bytes(1, 2048) for k in by_hand) > sum(k.bytes(1, 2048) for k in compiled)
    assert {"ln_2", "attn.core.softmax", "attn.dropout+residual_1"} <= {k.name for k in by_hand}
