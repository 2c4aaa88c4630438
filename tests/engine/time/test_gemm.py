"""Matrix products: quantization by tiles and waves, ceilings nobody may break, and the time with the traffic."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.core.arrays import numbers
from ironlaw.core.errors import EngineError
from ironlaw.hardware.accelerators import Accelerator, Product, accelerator, list_accelerators
from ironlaw.time.gemm import (
    SIXTEEN_BIT,
    TILES,
    TYPICAL_SHARES,
    ceiling,
    gemm_rate,
    gemm_seconds,
    pipeline_depth,
    product_bytes,
    product_seconds,
    sustained,
)
from ironlaw.time.roofline import least_seconds
from ironlaw.time.token_products import Rows, deep_product, row_product

CHIPS = [chip for name in list_accelerators() if (chip := accelerator(name)).multiprocessors]
FAMOUS = [accelerator(name) for name in ("v100-32", "a100-80", "h100-sxm", "b200", "rtx-4090")]
H100 = accelerator("h100-sxm")
WIDE = (6400, 1600)
"""Columns and depth of the first product of GPT-2 XL's MLP."""
dimension = st.integers(1, 60_000)
side = st.integers(1, 20_000)


@given(chip=st.sampled_from(CHIPS), m=dimension, n=dimension, k=dimension, count=st.integers(1, 64))
def test_no_shape_beats_the_ceiling_and_no_ceiling_the_peak(
    chip: Accelerator, m: int, n: int, k: int, count: int
) -> None:
    dtype = chip.peaks[0].dtype
    assert gemm_rate(m, n, k, chip, dtype, count) <= ceiling(chip, dtype) <= chip.peak(dtype)


@pytest.mark.parametrize("name", ["a100-80", "h100-sxm", "h200", "b200"])
def test_the_published_best_shape_comes_near_its_published_rate(name: str) -> None:
    chip = accelerator(name)
    best = chip.ceiling("bf16")
    assert best is not None
    m, n, k = (int(size) for size in best.shape.split("x"))
    # A B200 keeps up a smaller part of its best product than others do.
    assert (0.78 if name == "b200" else 0.85) < gemm_rate(m, n, k, chip, "bf16") / best.flops_per_second <= 1


@pytest.mark.parametrize("name", ["a100-80", "h100-sxm", "v100-16"])
def test_a_product_of_random_data_takes_as_long_as_published_neither_quantized_twice_nor_above_the_ceiling(
    name: str,
) -> None:
    chip = accelerator(name)
    for measured in chip.sustained:
        assert gemm_rate(*measured.sizes, chip, measured.dtype) == pytest.approx(measured.flops_per_second, rel=0.01)
        assert measured.flops_per_second <= sustained(chip, measured.dtype) <= ceiling(chip, measured.dtype)


def test_a_geforce_card_above_its_peak_at_the_nominal_clock_counts_as_at_the_peak() -> None:
    chip = accelerator("rtx-5090")
    best = chip.ceiling("bf16")
    assert best is not None
    assert best.flops_per_second > chip.peak("bf16")
    assert ceiling(chip, "bf16") == sustained(chip, "bf16") == chip.peak("bf16")


def published_shares(family: str, dtypes: tuple[str, ...], *, kept: bool) -> dict[tuple[float, str], float]:
    """Rates over peaks, at most 1, of a family's published products; one that several records share counts once."""
    chips = [chip for chip in CHIPS if chip.family == family]
    tables: list[tuple[Accelerator, tuple[Product, ...]]] = [
        (chip, chip.sustained if kept else chip.ceilings) for chip in chips
    ]
    return {
        (entry.flops_per_second, entry.source.url): min(entry.flops_per_second / chip.peak(entry.dtype), 1.0)
        for chip, table in tables
        for entry in table
        if entry.dtype in dtypes
    }


@pytest.mark.parametrize("family", TYPICAL_SHARES)
@pytest.mark.parametrize("kind", ["fp32", "tf32", "16-bit", "fp8"])
def test_typical_shares_are_the_means_of_what_is_published_for_the_family(family: str, kind: str) -> None:
    dtypes = SIXTEEN_BIT if kind == "16-bit" else (kind,)
    for position, kept in enumerate((False, True)):
        shares = published_shares(family, dtypes, kept=kept)
        if shares:
            assert TYPICAL_SHARES[family][kind][position] == pytest.approx(fmean(shares.values()), abs=0.006)


def test_both_8_bit_floats_have_the_rate_of_fp8_and_pay_for_as_many_bytes_of_pipeline() -> None:
    h100 = accelerator("h100-sxm")
    assert sustained(h100, "fp8-e4m3") == sustained(h100, "fp8-e5m2") == sustained(h100, "fp8")
    assert pipeline_depth("fp8") == 2 * pipeline_depth("bf16") == 4 * pipeline_depth("fp32")
    assert 1.7 < gemm_rate(8192, 8192, 8192, h100, "fp8") / gemm_rate(8192, 8192, 8192, h100, "bf16") < 2


@pytest.mark.parametrize("name", ["rtx-4060", "rtx-5080", "h100-pcie"])
def test_fp8_without_a_published_product_takes_its_familys_share(name: str) -> None:
    chip = accelerator(name)
    assert chip.ceiling("fp8") is None
    assert sustained(chip, "fp8") == TYPICAL_SHARES[chip.family]["fp8"][1] * chip.peak("fp8")


@pytest.mark.parametrize("name", ["a100-80", "h100-sxm", "rtx-4090"])
def test_scores_over_heads_of_108_cost_more_per_flop_than_over_96_and_128(name: str) -> None:
    chip = accelerator(name)
    rates = {head: gemm_rate(2048, 2048, head, chip, "bf16", count=64) for head in (96, 108, 128)}
    assert rates[108] < min(rates[96], rates[128])
    seconds = {head: 2 * 64 * 2048 * 2048 * head / rate for head, rate in rates.items()}
    assert seconds[108] == pytest.approx(seconds[128])


def test_16_bit_formats_share_their_tensor_cores_records() -> None:
    a100 = accelerator("a100-80")
    assert a100.ceiling("fp16") is None
    assert ceiling(a100, "fp16") == ceiling(a100, "bf16")
    assert sustained(a100, "fp16") == sustained(a100, "bf16")


def test_one_row_more_than_a_tile_costs_a_whole_tile() -> None:
    one, more, two = (gemm_seconds(rows, 256, 1024, 1e15, 1, tiles=TILES[:1]) for rows in (128, 129, 256))
    assert one < more == two


def test_one_tile_more_than_a_wave_costs_a_whole_wave() -> None:
    full, more, two = (gemm_seconds(128, 256, 1024, 1e15, 108, tiles, tiles=TILES[:1]) for tiles in (108, 109, 216))
    assert full < more == two


def test_a_batch_of_33_costs_no_more_than_32_until_a_tile_is_full() -> None:
    # The batch is not mapped to warps of 32 threads: up to 64 rows are one tile.
    a100 = accelerator("a100-80")
    rate = ceiling(a100, "bf16")
    seconds = [gemm_seconds(rows, 4096, 1024, rate, a100.multiprocessors) for rows in (32, 33, 64, 65)]
    assert seconds[0] == seconds[1] == seconds[2] < seconds[3]


def test_deep_sums_with_few_tiles_are_shared_among_multiprocessors() -> None:
    h100 = accelerator("h100-sxm")
    assert gemm_rate(768, 768, 65536, h100, "bf16") > 0.5 * ceiling(h100, "bf16")


def test_short_sums_do_not_pay_back_the_pipeline() -> None:
    a100 = accelerator("a100-80")
    assert gemm_rate(8192, 8192, 64, a100, "bf16") < 0.5 * gemm_rate(8192, 8192, 8192, a100, "bf16")


@given(rows=st.integers(1, 200_000), n=dimension, k=st.integers(1, 20_000))
def test_a_prepared_row_product_equals_the_general_one_unless_sums_are_split(rows: int, n: int, k: int) -> None:
    general = gemm_seconds(rows, n, k, 1e15, 132)
    prepared = row_product(n, k, 1e15, 132).seconds(Rows(rows, 132, numbers()))
    assert prepared >= general * (1 - 1e-12)
    if k < 2048:
        assert prepared == pytest.approx(general)


@given(rows=st.integers(1, 200_000), n=dimension, depths=st.lists(st.integers(1, 2047), min_size=2, max_size=4))
def test_products_with_equally_many_columns_share_their_tiles_and_change_nothing(
    rows: int, n: int, depths: list[int]
) -> None:
    shared = Rows(rows, 108, numbers())
    for k in depths:
        assert row_product(n, k, 3e14, 108).seconds(shared) == pytest.approx(gemm_seconds(rows, n, k, 3e14, 108))
    assert list(shared) == [n]


@given(m=dimension, n=dimension, depth=st.integers(1, 200_000))
def test_a_prepared_deep_product_is_never_faster_than_the_general_one(m: int, n: int, depth: int) -> None:
    prepared = deep_product(m, n, 1e15, 132).seconds(depth, numbers())
    assert prepared >= gemm_seconds(m, n, depth, 1e15, 132) * (1 - 1e-12)
    at_8192 = deep_product(m, n, 1e15, 132).seconds(8192, numbers())
    assert at_8192 == pytest.approx(gemm_seconds(m, n, 8192, 1e15, 132))


def test_a_chip_without_multiprocessors_has_no_quantization() -> None:
    assert gemm_seconds(100, 100, 1024, 1e12, 0) == 2 * 100 * 100 * 1024 / 1e12
    rows = Rows(100, 0, numbers())
    assert row_product(100, 1024, 1e12, 0).seconds(rows) == pytest.approx(2 * 100 * 100 * 1024 / 1e12)
    assert deep_product(100, 100, 1e12, 0).seconds(1024, numbers()) == 2 * 100 * 100 * 1024 / 1e12


def test_shapes_may_be_arrays() -> None:
    rows: Any = np.array([1, 63, 64, 65, 4096, 100_000])
    expected = [gemm_seconds(int(m), 3072, 768, 3e14, 108) for m in rows]
    assert np.allclose(gemm_seconds(rows, 3072, 768, 3e14, 108), expected)
    math = numbers(rows)
    assert np.allclose(row_product(3072, 768, 3e14, 108).seconds(Rows(rows, 108, math)), expected)
    deep = deep_product(768, 768, 3e14, 108)
    assert np.allclose(deep.seconds(rows, math), [deep.seconds(int(m), numbers()) for m in rows])


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(EngineError, match="m 0 is not allowed; it must be a finite number of at least 1"):
        gemm_rate(0, 1, 1, accelerator("h200"), "bf16")


@given(chip=st.sampled_from(FAMOUS), m=side, n=side, k=side)
def test_no_product_beats_the_roofline(chip: Accelerator, m: int, n: int, k: int) -> None:
    least = least_seconds(2 * m * n * k, product_bytes(m, n, k, "fp16"), chip.peak("fp16"), chip.bandwidth)
    assert product_seconds(m, n, k, chip, "fp16") >= least


def test_few_rows_wait_for_the_weights_and_many_for_arithmetic() -> None:
    n, k = WIDE
    few, many = 32, 8192
    assert product_seconds(few, n, k, H100) == product_bytes(few, n, k) / H100.streaming
    assert product_seconds(many, n, k, H100) == pytest.approx(2 * many * n * k / gemm_rate(many, n, k, H100, "bf16"))


def test_a_thirty_third_row_costs_what_it_moves_and_a_sixty_fifth_starts_new_tiles() -> None:
    times = {rows: product_seconds(rows, *WIDE, H100) for rows in (32, 33, 64, 65)}
    assert times[33] / times[32] == pytest.approx(1, abs=0.01)
    assert times[65] / times[64] > 1.2


def test_the_bytes_are_those_of_three_matrices() -> None:
    assert product_bytes(2, 3, 5, "fp32") == 4 * (10 + 15 + 6)


def test_a_product_without_rows_is_refused() -> None:
    with pytest.raises(EngineError, match="m 0 is not allowed; it must be a finite number of at least 1"):
        product_seconds(0, 3, 5, H100)
