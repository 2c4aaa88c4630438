"""Grouped products: one kernel that multiplies each expert's tokens by that expert's matrix."""

from __future__ import annotations

from ironlaw.core.arrays import maximum, require_each
from ironlaw.core.units import Count, Seconds
from ironlaw.hardware.accelerators import Accelerator
from ironlaw.time.gemm import gemm_seconds, pipeline_depth, product_bytes, sustained


def grouped_product_seconds(
    groups: Count, m: Count, n: Count, k: Count, chip: Accelerator, dtype: str = "bf16"
) -> Seconds:
    """Seconds of `groups` products of (m, k) by (k, n) in one kernel: the slower of tiles and waves, and of traffic.

    A group of few rows pays twice: a tile that its rows do not fill computes nothing useful, and its whole matrix is
    read for few products. Unequal groups whose mean is m take a little longer, at most a tile more for each group.

    Args:
        groups: Experts on this device.
        m: Tokens of each.
        n: Columns of an expert's matrix.
        k: Its rows, the depth of the sum.
        chip: The accelerator.
        dtype: Format of the operands, accumulated in fp32.

    Raises:
        EngineError: A size below one, or a format that the chip does not have.

    Source: `ironlaw.time.gemm`, of which this is many products that share the waves. Published grouped products of
    DeepGEMM (github.com/deepseek-ai/DeepGEMM, README of March 2025, an H800 in FP8) hold it to the curve.
    """
    require_each(1, {"groups": groups, "m": m, "n": n, "k": k})
    rate, depth = sustained(chip, dtype), pipeline_depth(dtype)
    arithmetic = gemm_seconds(m, n, k, rate, chip.multiprocessors, groups, depth=depth)
    return maximum(arithmetic, groups * product_bytes(m, n, k, dtype) / chip.streaming)
