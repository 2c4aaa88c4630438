"""Matrix products over tokens, ready for many batches: what does not depend on the tokens is done once.

A layer's products have the tokens as their rows, forward and for the input's gradient, or as the depth of their sum,
for the weight's gradient. The rest of their shape is fixed. The seconds are `ironlaw.time.gemm.gemm_seconds`'s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from ironlaw.core.arrays import Numbers, numbers
from ironlaw.core.units import Count, Flops, FlopsPerSecond, Ratio, Seconds
from ironlaw.time.gemm import (
    PIPELINE_DEPTH,
    PRODUCT_START,
    SPLIT_DEPTH,
    STAGES,
    TILES,
    Tile,
    wave_seconds,
    whole_steps,
)

TILE_HEIGHTS = tuple(sorted({tile.m for tile in TILES}))


class Rows(dict[Count, Flops]):
    """For a number of rows: columns of the result -> FLOPs per element of the sum, in waves of the best tile.

    Idle multiprocessors count as busy, so these are more FLOPs than the result needs. An entry is computed when it is
    first asked for; products with equally many columns share it.
    """

    def __init__(self, count: Count, multiprocessors: Count, math: Numbers) -> None:
        """For `count` rows, on so many multiprocessors; `math` comes from `ironlaw.core.arrays.numbers`."""
        self.count, self.math, self._units = count, math, multiprocessors
        self._tiles = {height: math.ceil_division(count, height) for height in TILE_HEIGHTS}
        self._grouped: dict[tuple[Count, Count, Ratio], Flops] = {}

    def __missing__(self, columns: Count) -> Flops:
        if self._units == 0:
            return 2 * columns * self.count
        ceil_division, minimum = self.math.ceil_division, self.math.minimum
        best: Flops | None = None
        for height, across, wave in _tilings(columns, self._units):  # a loop: most of a scalar estimate's time is here
            flops = ceil_division(self._tiles[height] * across, self._units) * wave
            best = flops if best is None else minimum(best, flops)
        assert best is not None
        self[columns] = best
        return best

    def grouped(self, columns: Count, groups: Count, share: Ratio) -> Flops:
        """As an entry, for `share` of the rows in each of so many groups, which all run in one launch.

        A group's last tile is as good as whole; of more groups than rows only as many run as there are rows.
        """
        rows, found = self.count * (groups * share), self._grouped.get((columns, groups, share))
        if found is not None:
            return found
        minimum, ceil_division = self.math.minimum, self.math.ceil_division
        active = minimum(rows, groups)
        best: Flops | None = None
        for height, across, wave in _tilings(columns, self._units):
            tiles = active * ceil_division(rows / active, height) * across
            flops = ceil_division(tiles, self._units) * wave
            best = flops if best is None else minimum(best, flops)
        assert best is not None
        self._grouped[columns, groups, share] = best
        return best


@cache
def _tilings(columns: Count, multiprocessors: Count) -> tuple[tuple[Count, Count, Flops], ...]:
    """Per tile: its height, how many lie side by side, and the FLOPs of a wave of them per element of the sum."""
    return tuple((tile.m, math.ceil(columns / tile.n), wave_seconds(tile, 1.0, multiprocessors)) for tile in TILES)


@dataclass(frozen=True, slots=True)
class RowProduct:
    """Products with any number of rows and fixed n and k, ready for many evaluations; same result as `gemm_seconds`.

    `scale` is the depth of the sum, pipeline included, over the rate. With `groups` above one each group has `share` of
    the rows and a matrix of its own.
    """

    columns: Count
    scale: Seconds
    start: Seconds = PRODUCT_START
    groups: Count = 1
    share: Ratio = 1.0

    def seconds(self, rows: Rows) -> Seconds:
        """Seconds of one product."""
        if self.groups > 1:
            return rows.grouped(self.columns, self.groups, self.share) * self.scale + self.start
        return rows[self.columns] * self.scale + self.start


def row_product(
    n: Count,
    k: Count,
    rate: FlopsPerSecond,
    multiprocessors: Count,
    depth: Count = PIPELINE_DEPTH,
    groups: Count = 1,
    share: Ratio = 1.0,
) -> RowProduct:
    """A `RowProduct` for n columns and depth k (sums are not split: the rows are many)."""
    if multiprocessors == 0:
        return RowProduct(n, k * groups * share / rate, start=0.0)
    return RowProduct(n, (whole_steps(k, depth) + depth) / rate, groups=groups, share=share)


@dataclass(frozen=True, slots=True)
class DeepProduct:
    """Products with fixed m and n and any depth, ready for many evaluations: the gradient of a weight.

    The tile is the one that is best for a sum over 8,192 tokens; with it the result is `gemm_seconds`'s. Of several
    groups each sums over `share` of the depth.
    """

    waves: Count
    grid_per_unit: Ratio
    splits: bool
    per_depth: Seconds
    pipeline: Count = PIPELINE_DEPTH
    start: Seconds = PRODUCT_START
    share: Ratio = 1.0

    def seconds(self, depth: Count, math: Numbers) -> Seconds:
        """Seconds of one product over `depth`; `math` comes from `ironlaw.core.arrays.numbers`."""
        summed: float = depth * self.share
        step = self.pipeline // STAGES
        steps = math.ceil_division(summed, step) * step if step else summed
        whole: float = self.waves * (steps + self.pipeline)
        if self.splits:
            shared = math.maximum(self.grid_per_unit * summed, SPLIT_DEPTH) + 2 * self.pipeline
            whole = math.where(summed >= 2 * SPLIT_DEPTH, math.minimum(whole, shared), whole)
        return whole * self.per_depth + self.start


def deep_product(
    m: Count,
    n: Count,
    rate: FlopsPerSecond,
    multiprocessors: Count,
    depth: Count = PIPELINE_DEPTH,
    groups: Count = 1,
    share: Ratio = 1.0,
) -> DeepProduct:
    """A `DeepProduct` for a result of m by n, or for one of each of several groups."""
    if multiprocessors == 0:
        return DeepProduct(1, 1.0, False, 2 * groups * m * n / rate, pipeline=0, start=0.0, share=share)

    def prepared(tile: Tile) -> DeepProduct:
        grid = groups * math.ceil(m / tile.m) * math.ceil(n / tile.n)
        return DeepProduct(
            math.ceil(grid / multiprocessors),
            grid / multiprocessors,
            grid < 2 * multiprocessors,
            wave_seconds(tile, rate, multiprocessors),
            depth,
            share=share,
        )

    return min((prepared(tile) for tile in TILES), key=lambda product: product.seconds(8192, numbers()))
