"""Grouped products of experts: published rates by group size, and what no number of groups may change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.core.errors import EngineError
from ironlaw.hardware.accelerators import accelerator
from ironlaw.time.gemm import product_seconds
from ironlaw.time.grouped import grouped_product_seconds

H100 = accelerator("h100-sxm")

# github.com/deepseek-ai/DeepGEMM, README of March 2025: FP8 on an H800, which computes as an H100 does.
# Groups, rows of each, columns, depth, TFLOP/s.
LARGE = [
    (4, 8192, 4096, 7168, 1297),
    (4, 8192, 7168, 2048, 1099),
    (8, 4096, 4096, 7168, 1288),
    (8, 4096, 7168, 2048, 1093),
]
SMALL = [
    (2, 512, 4096, 7168, 1040),
    (2, 512, 7168, 2048, 916),
    (4, 256, 4096, 7168, 932),
    (4, 256, 7168, 2048, 815),
]


@pytest.mark.parametrize(("groups", "m", "n", "k", "published"), LARGE)
def test_large_groups_run_at_their_published_rate(groups: int, m: int, n: int, k: int, published: float) -> None:
    seconds = grouped_product_seconds(groups, m, n, k, H100, "fp8")
    assert 2 * groups * m * n * k / seconds == pytest.approx(published * 1e12, rel=0.15)


@pytest.mark.parametrize(("groups", "m", "n", "k", "published"), SMALL)
def test_groups_whose_tiles_and_matrices_take_equally_long_are_a_lower_bound(
    groups: int, m: int, n: int, k: int, published: float
) -> None:
    # Arithmetic and traffic are taken to hide each other wholly; here they take as long as each other and do not.
    rate = 2 * groups * m * n * k / grouped_product_seconds(groups, m, n, k, H100, "fp8")
    assert published * 1e12 < rate < 1.45 * published * 1e12


@given(
    groups=st.integers(1, 256), m=st.integers(1, 4096), n=st.sampled_from([768, 1536, 14336]), k=st.integers(64, 8192)
)
def test_grouping_saves_starts_but_no_work(groups: int, m: int, n: int, k: int) -> None:
    together = grouped_product_seconds(groups, m, n, k, H100)
    assert together >= 2 * groups * m * n * k / H100.peak("bf16")
    assert together <= groups * product_seconds(m, n, k, H100) * 1.001
    assert grouped_product_seconds(groups, m + 1, n, k, H100) >= together * (1 - 1e-12)


def test_a_group_of_few_tokens_wastes_most_of_the_chip() -> None:
    # 128 experts of Qwen3-30B-A3B on one device: a few tokens each read every matrix for little work.
    few, many = (grouped_product_seconds(128, m, 768, 2048, H100) / m for m in (8, 1024))
    assert few > 8 * many


def test_no_groups_are_refused() -> None:
    with pytest.raises(EngineError):
        grouped_product_seconds(0, 1, 1, 1, H100)
