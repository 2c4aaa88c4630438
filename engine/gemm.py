"""Matrix products: how fast a shape can run, from tiles, waves of tiles, and the depth of the sum.

A product is cut into tiles of the result; each multiprocessor works on one tile at a time. Three things keep a shape
below the chip's measured ceiling. Tile quantization: tiles that stick out over the edge compute nothing useful. Wave
quantization: the last wave of tiles leaves multiprocessors idle. Depth: every tile fills and drains a pipeline, which
a short sum does not pay back. A batch of 33 is slower than 32 only when it starts a new tile or a new wave: warps of
32 threads have nothing to do with the batch.

Source: NVIDIA, "Matrix Multiplication Background User's Guide", sections Tile Quantization and Wave Quantization.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.accelerators import Accelerator
from engine.arrays import ceil, maximum, minimum, require_at_least, where
from engine.units import Count, FlopsPerSecond, Ratio, Seconds

TYPICAL_CEILING: Ratio = 0.83
"""Share of the dense peak that the best product reaches where nothing was published.

The mean of what was: A100 SXM 0.869 and PCIe 0.811, GH200 0.838, H100 0.803 (the records' `ceilings`).
"""

PIPELINE_DEPTH: Count = 128
"""Elements of the sum that filling and draining a tile's pipeline is worth: four stages of 32. An assumption."""

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


TILES = (Tile(256, 128, 1.0), Tile(128, 256, 1.0), Tile(128, 128, 0.95), Tile(128, 64, 0.75), Tile(64, 64, 0.55))
"""Tiles that a library chooses from, as NVIDIA's guide lists them; rates relative to 256 x 128 after its figure 8."""


def ceiling(chip: Accelerator, dtype: str) -> FlopsPerSecond:
    """FLOPs per second of the best matrix product: measured if published, else a typical share of the dense peak.

    Args:
        chip: The accelerator.
        dtype: Operand format, e.g. `"bf16"`; products accumulate in fp32.

    Raises:
        EngineError: The chip has no such mode.
    """
    measured = chip.ceiling(dtype)
    return measured.flops_per_second if measured else TYPICAL_CEILING * chip.peak(dtype)


def tile_quantization(m: Count, n: Count, tile: Tile) -> Ratio:
    """Share of the tiles' area that is result: below 1 when a tile sticks out over the edge."""
    return m * n / (ceil(m / tile.m) * tile.m * ceil(n / tile.n) * tile.n)


def wave_quantization(tiles: Count, multiprocessors: Count) -> Ratio:
    """Share of multiprocessors busy over all waves: `tiles / (waves * multiprocessors)`."""
    require_at_least("tiles", tiles, 1)
    require_at_least("multiprocessors", multiprocessors, 1)
    return tiles / (ceil(tiles / multiprocessors) * multiprocessors)


def gemm_seconds(
    m: Count,
    n: Count,
    k: Count,
    rate: FlopsPerSecond,
    multiprocessors: Count,
    count: Count = 1,
    *,
    tiles: tuple[Tile, ...] = TILES,
) -> Seconds:
    """Seconds of `count` products of (m, k) by (k, n), bound by arithmetic, with the best tile.

    Never below `2 m n k count / rate`. Dimensions may be NumPy arrays.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        k: Depth of the sum.
        rate: FLOPs per second of the best product on the chip (`ceiling`).
        multiprocessors: Units that share the tiles; 0 when not known, then only depth counts.
        count: Independent products in one launch.
        tiles: Tiles to choose from.
    """
    if multiprocessors == 0:
        return 2 * count * m * n * (k + PIPELINE_DEPTH) / rate
    best: Seconds | None = None
    for tile in tiles:
        grid = count * ceil(m / tile.m) * ceil(n / tile.n)
        depth = _depth(grid, k, multiprocessors)
        seconds = depth * (2 * tile.m * tile.n * multiprocessors / (rate * tile.efficiency))
        best = seconds if best is None else minimum(best, seconds)
    assert best is not None
    return best


def _depth(grid: float, k: Count, multiprocessors: Count) -> float:
    """Elements of the sum that the busiest multiprocessor works through, pipeline included."""
    whole_waves = ceil(grid / multiprocessors) * (k + PIPELINE_DEPTH)
    # Few tiles with deep sums: the sums are cut so that all multiprocessors share them, and added up afterwards.
    shared = maximum(grid * k / multiprocessors, SPLIT_DEPTH) + 2 * PIPELINE_DEPTH
    splits = (k >= 2 * SPLIT_DEPTH) & (grid < 2 * multiprocessors)
    return where(splits, minimum(whole_waves, shared), whole_waves)


def gemm_rate(m: Count, n: Count, k: Count, chip: Accelerator, dtype: str, count: Count = 1) -> FlopsPerSecond:
    """Achievable FLOPs per second of a shape on a chip, arithmetic alone (see `engine.roofline` for traffic)."""
    for what, value in (("m", m), ("n", n), ("k", k), ("count", count)):
        require_at_least(what, value, 1)
    seconds = gemm_seconds(m, n, k, ceiling(chip, dtype), chip.multiprocessors, count)
    return 2 * count * m * n * k / seconds
