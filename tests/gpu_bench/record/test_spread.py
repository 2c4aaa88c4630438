"""Ratios of medians: the interval holds the truth, and two samples of the same thing show no difference."""

from __future__ import annotations

import random

from gpu_bench.record.spread import ratio


def _rows(around: float, seed: int, drift: float = 0.0) -> list[list[float]]:
    draw = random.Random(seed)
    return [[around * draw.gauss(1 + drift * draw.uniform(-1, 1), 0.01) for _ in range(50)] for _ in range(3)]


def test_the_same_thing_twice_shows_no_difference_and_another_one_does() -> None:
    same = sum(ratio(_rows(0.1, seed), _rows(0.1, seed + 100)).differs for seed in range(10))
    assert same <= 2, "about one in twenty by chance"
    found = ratio(_rows(0.12, 1), _rows(0.1, 2))
    assert found.differs
    assert found.low < 1.2 < found.high
    assert ratio(_rows(0.12, 1), _rows(0.1, 2)) == found, "the same data give the same interval"


def test_repeats_that_disagree_widen_the_interval() -> None:
    one = ratio([[0.10] * 50, [0.12] * 50, [0.11] * 50], _rows(0.1, 2))
    other = ratio([[0.11] * 50] * 3, _rows(0.1, 2))
    assert one.high - one.low > 3 * (other.high - other.low)
