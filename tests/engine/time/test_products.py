"""One matrix product: the slower of its tiles and its traffic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.errors import EngineError
from engine.hardware.accelerators import Accelerator, accelerator
from engine.time.gemm import gemm_rate, product_bytes, product_seconds
from engine.time.roofline import least_seconds

CHIPS = [accelerator(name) for name in ("v100-32", "a100-80", "h100-sxm", "b200", "rtx-4090")]
H100 = accelerator("h100-sxm")
WIDE = (6400, 1600)
"""Columns and depth of the first product of GPT-2 XL's MLP."""
dimension = st.integers(1, 20_000)


@given(chip=st.sampled_from(CHIPS), m=dimension, n=dimension, k=dimension)
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
    with pytest.raises(EngineError, match="m"):
        product_seconds(0, 3, 5, H100)
