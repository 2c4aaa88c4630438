"""Matrix products: how fast a shape can run, from tiles, waves of tiles, and the depth of the sum.

A product is cut into tiles of the result; each multiprocessor works on one tile at a time. Three things keep a shape
below what the chip keeps up. Tile quantization: tiles that stick out over the edge compute nothing useful. Wave
quantization: the last wave of tiles leaves multiprocessors idle. Depth: every tile fills and drains a pipeline, which
a short sum does not pay back. A batch of 33 is slower than 32 only when it starts a new tile or a new wave: warps of
32 threads have nothing to do with the batch.

What is not here: a penalty for dimensions that are no multiple of 8. NVIDIA's guide and arXiv 2401.14489 show one for
16-bit products on a V100 and an A100, in figures without numbers to take. The numbers that are published need none:
odd squares on an RTX 4090, a third slower than even ones, start a new wave of tiles, and are met within 9 %
(github.com/pytorch/pytorch, issue 181718; `tests/engine/time/test_product_curves.py`); 8193 x 2501 x 5008 on an H100
is as fast as with its sizes padded (github.com/meta-pytorch/float8_experimental, pull request 145). Libraries of
earlier years did pay: 384 products of 1024 x 140 x 1024 ran at 12 TFLOP/s in bf16 and 54 in fp16 with CUDA 11.6, at 86
with 11.7, and at 132 with 128 for 140 (github.com/pytorch/pytorch, issue 83272), so runs before 2022 with such heads
are slower than here.

Source: NVIDIA, "Matrix Multiplication Background User's Guide", sections Tile Quantization and Wave Quantization.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, reduce

from ironlaw.core.arrays import ceil, maximum, minimum, require_each, where
from ironlaw.core.units import Bytes, Count, FlopsPerSecond, Ratio, Seconds
from ironlaw.hardware.accelerators import Accelerator, product_format
from ironlaw.numerics.dtypes import BF16
from ironlaw.numerics.dtypes import dtype as element

TYPICAL_SHARES: dict[str, dict[str, tuple[Ratio, Ratio]]] = {
    "data-center": {"fp32": (0.83, 0.80), "tf32": (0.71, 0.67), "16-bit": (0.78, 0.70), "fp8": (0.74, 0.69)},
    "geforce": {"fp32": (0.63, 0.59), "tf32": (0.98, 0.97), "16-bit": (0.98, 0.97), "fp8": (1.00, 0.97)},
}
"""Shares of the dense peak that a product reaches where none is published: the best one, and one on random data.

The means over the cards of a family whose products are published, a card above its peak counted as 1 (the records'
`ceilings` and `sustained`); no GeForce card's FP8 product on random data is published, so that is the 16-bit share.
GeForce cards run 16-bit products with fp32 sums at half the tensor cores' rate, which memory, clocks and power keep up
with. Chips of no family, and formats without a row, take the data centers' 16-bit share.
"""

SIXTEEN_BIT = ("bf16", "fp16")
"""Formats whose products run in the same units at the same rate."""

STAGES: Count = 4
"""Stages of a tile's pipeline, each of which loads a step of the sum. An assumption."""

PIPELINE_BYTES = STAGES * 64
"""Cost of filling and draining a tile's pipeline, in bytes of an operand along the sum.

Stages of 64 bytes, 32 elements of 16 bits, stand in the names of cuBLAS's and CUTLASS's kernels (`64x64_32x6`: tiles of
64 x 64, steps of 32, six stages; github.com/pytorch/pytorch, issue 181718). A sum is worked off in such steps, so that
heads of 108 take the time of 128.

128 elements of 16 bits, 256 of 8: products in FP8, whose tiles are as deep in bytes, pay as many bytes.
"""

PIPELINE_DEPTH: Count = PIPELINE_BYTES // 2
"""`PIPELINE_BYTES` in elements of 16 bits."""

PRODUCT_START: Seconds = 1.5e-6
"""Seconds that a product takes besides its tiles' work: the first loads from memory, and writing the last results.

Chosen, with a gap of 1.5 us between two kernels, to agree with 16 published curves of products by size
(`tests/engine/time/test_product_curves.py`): a mean error of 7 %, against 13 % without start and gap and with the same
depth for all formats. It matters only for products that take about ten microseconds or less.
"""

SPLIT_DEPTH: Count = 1024
"""A sum is split among multiprocessors only into parts at least this deep. An assumption."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile of m by n results and its rate relative to the largest tiles.

    A tile of m by n reads m + n values for every m n products, so small tiles are bound by the on-chip memory.
    """

    m: Count
    n: Count
    efficiency: Ratio


TILES = (Tile(128, 256, 1.0), Tile(128, 128, 0.95), Tile(64, 64, 0.55))
"""Tiles that a library chooses from; rates relative to the largest, after figure 8 of NVIDIA's guide.

An RTX 4090 runs square products of 2,056 and 2,072, for which cuBLAS takes tiles of 64 x 64, at 0.57 and 0.54 of one of
2,040 with tiles of 128 x 128. Source: github.com/pytorch/pytorch, issue 181718.
"""


def typical_shares(chip: Accelerator, dtype: str) -> tuple[Ratio, Ratio]:
    """Shares of the dense peak of the best product and of one on random data (`TYPICAL_SHARES`)."""
    shares = TYPICAL_SHARES.get(chip.family, TYPICAL_SHARES["data-center"])
    return shares.get(product_format(dtype), shares["16-bit"])


def ceiling(chip: Accelerator, dtype: str) -> FlopsPerSecond:
    """FLOPs per second of the best matrix product: measured if published, else a typical share of the dense peak.

    Args:
        chip: The accelerator.
        dtype: Operand format, e.g. `"bf16"`; products accumulate in fp32.

    Raises:
        EngineError: The chip has no such mode.
    """
    measured, peak = chip.ceiling(dtype), chip.peak(dtype)
    if measured is None and dtype in SIXTEEN_BIT:
        measured = next((entry for entry in chip.ceilings if entry.dtype in SIXTEEN_BIT), None)
    return min(measured.flops_per_second, peak) if measured else typical_shares(chip, dtype)[0] * peak


def sustained(chip: Accelerator, dtype: str) -> FlopsPerSecond:
    """FLOPs per second that a product without quantization keeps up on real data at the power limit.

    The published product's rate over this model's own efficiency at its shape, so that tiles, waves and depth are not
    counted twice; never above the ceiling. Where no such product is published, the ceiling if that is, else a typical
    share of the dense peak.

    Args:
        chip: The accelerator.
        dtype: Operand format. The 16-bit formats share tensor cores and so a record, as do the 8-bit floats.

    Raises:
        EngineError: The chip has no such mode.
    """
    best = ceiling(chip, dtype)
    alike = SIXTEEN_BIT if dtype in SIXTEEN_BIT else (product_format(dtype),)
    found = next((entry for entry in chip.sustained if entry.dtype in alike), None)
    if found is None:
        if any(entry.dtype in alike for entry in chip.ceilings):
            return best
        return typical_shares(chip, dtype)[1] * chip.peak(dtype)
    m, n, k = found.sizes
    flops = 2 * m * n * k
    working = flops / found.flops_per_second - (PRODUCT_START if chip.multiprocessors else 0.0)
    tiled = gemm_seconds(m, n, k, 1.0, chip.multiprocessors, depth=pipeline_depth(dtype), start=0.0)
    return min(best, tiled / working)


@cache
def pipeline_depth(dtype: str) -> Count:
    """Cost of filling and draining a tile's pipeline, in elements of the sum, for operands of `dtype`."""
    return PIPELINE_BYTES * 8 // element(dtype).bits


def gemm_seconds(
    m: Count,
    n: Count,
    k: Count,
    rate: FlopsPerSecond,
    multiprocessors: Count,
    count: Count = 1,
    *,
    tiles: tuple[Tile, ...] = TILES,
    depth: Count = PIPELINE_DEPTH,
    start: Seconds = PRODUCT_START,
) -> Seconds:
    """Seconds of `count` products of (m, k) by (k, n), bound by arithmetic, with the best tile.

    Never below `2 m n k count / rate`. Dimensions may be NumPy arrays.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        k: Depth of the sum.
        rate: FLOPs per second of the best product on the chip (`sustained`).
        multiprocessors: Units that share the tiles; 0 for a chip without such units: nothing is quantized.
        count: Independent products in one launch.
        tiles: Tiles to choose from.
        depth: Cost of filling and draining a tile's pipeline, in elements of the sum (`pipeline_depth`).
        start: Seconds besides the tiles' work, where tiles are shared.
    """
    if multiprocessors == 0:
        return 2 * count * m * n * k / rate

    def work(tile: Tile) -> Seconds:
        grid = count * ceil(m / tile.m) * ceil(n / tile.n)
        return _depth(grid, k, multiprocessors, depth) * wave_seconds(tile, rate, multiprocessors)

    return reduce(minimum, map(work, tiles)) + start


def _depth(grid: float, k: Count, multiprocessors: Count, pipeline: Count) -> float:
    """Elements of the sum that the busiest multiprocessor works through, pipeline included."""
    whole_waves = ceil(grid / multiprocessors) * (whole_steps(k, pipeline) + pipeline)
    # With few tiles and long sums (split-K), the sums are divided among all multiprocessors and added up afterwards.
    shared = maximum(grid * k / multiprocessors, SPLIT_DEPTH) + 2 * pipeline
    splits = (k >= 2 * SPLIT_DEPTH) & (grid < 2 * multiprocessors)
    return where(splits, minimum(whole_waves, shared), whole_waves)


def whole_steps(k: Count, pipeline: Count) -> float:
    """The depth of a sum in whole steps of a tile's pipeline, whose cost is `pipeline` elements."""
    step = pipeline // STAGES
    return ceil(k / step) * step


def gemm_rate(m: Count, n: Count, k: Count, chip: Accelerator, dtype: str, count: Count = 1) -> FlopsPerSecond:
    """Achievable FLOPs per second of a shape on a chip, arithmetic alone (see `ironlaw.time.roofline` for traffic)."""
    require_each(1, {"m": m, "n": n, "k": k, "count": count})
    rate, depth = sustained(chip, dtype), pipeline_depth(dtype)
    seconds = gemm_seconds(m, n, k, rate, chip.multiprocessors, count, depth=depth)
    return 2 * count * m * n * k / seconds


def wave_seconds(tile: Tile, rate: FlopsPerSecond, multiprocessors: Count) -> Seconds:
    """Seconds in which all multiprocessors advance one tile each by one element of the sum."""
    return 2 * tile.m * tile.n * multiprocessors / (rate * tile.efficiency)


def product_bytes(m: Count, n: Count, k: Count, dtype: str = "bf16") -> Bytes:
    """Bytes of an (m, k) by (k, n) product that reads both factors and writes the result once.

    The result has the operands' format, and 16 bits where they have 8: what is added up is not rounded to 8 bits.
    """
    require_each(1, {"m": m, "n": n, "k": k})
    operands = element(dtype)
    result = operands if operands.bits > 8 else BF16
    return operands.bytes(m * k + k * n) + result.bytes(m * n)


def product_seconds(m: Count, n: Count, k: Count, chip: Accelerator, dtype: str = "bf16") -> Seconds:
    """Seconds of an (m, k) by (k, n) product: the slower of its arithmetic, in tiles and waves, and its traffic.

    What `ironlaw.time.step` takes for a product of a training step. Takes NumPy arrays.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        k: Depth of the sum.
        chip: The accelerator.
        dtype: Format of the operands, accumulated in fp32.

    Raises:
        EngineError: A size below one, or a format that the chip does not have.

    Source: as above and, for the traffic, the chip's `streaming`.
    """
    traffic = product_bytes(m, n, k, dtype) / chip.streaming
    arithmetic = gemm_seconds(m, n, k, sustained(chip, dtype), chip.multiprocessors, depth=pipeline_depth(dtype))
    return maximum(arithmetic, traffic)
