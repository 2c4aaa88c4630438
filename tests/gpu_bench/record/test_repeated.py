"""Copies are found in as many looks as there are samples, a few times over: nothing grows with their square."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_bench.record import load
from gpu_bench.record.repeated import _period, copied
from gpu_bench.record.store import RESULTS

_LOOKS = [0]


class _Looked(float):
    """A sample that counts how often it is compared, divided or subtracted."""

    def __eq__(self, other: object) -> bool:
        _LOOKS[0] += 1
        return float.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        _LOOKS[0] += 1
        return float.__ne__(self, other)

    def __truediv__(self, other: float) -> float:
        _LOOKS[0] += 1
        return float.__truediv__(self, other)

    def __sub__(self, other: float) -> float:
        _LOOKS[0] += 1
        return float.__sub__(self, other)

    __hash__ = float.__hash__


def _looks(rows: list[list[float]]) -> int:
    """How many looks at samples it takes to hold rows against each other."""
    _LOOKS[0] = 0
    list(copied([[_Looked(one) for one in row] for row in rows], "steps"))
    return _LOOKS[0]


def _nearly_equal(count: int) -> list[list[float]]:
    """The row that took 29 s: nearly all samples are 1, so nearly every period holds for long."""
    return [[1.0] * (count - 10) + [float(one) for one in range(2, 12)]]


def _two_halves(count: int) -> list[list[float]]:
    half = [float(one % 9) for one in range(count // 2)]
    return [[*half, 100.0, *half]]


def _many_rows(count: int) -> list[list[float]]:
    return [[one + 1.0, one * one + 3.0, one + 7.0] for one in range(count)]


def _long_rows(count: int) -> list[list[float]]:
    draw = random.Random(1)
    return [[draw.random() for _ in range(count)] for _ in range(20)]


@pytest.mark.parametrize(
    ("make", "count"), [(_nearly_equal, 5000), (_two_halves, 5000), (_many_rows, 1000), (_long_rows, 500)]
)
def test_four_times_the_samples_take_about_four_times_the_looks(
    make: Callable[[int], list[list[float]]], count: int
) -> None:
    few, many = _looks(make(count)), _looks(make(4 * count))
    assert 0 < many < 6 * few
    assert many < 60 * sum(map(len, make(4 * count)))


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=1, max_size=30))
def test_the_period_is_the_shortest_distance_at_which_all_samples_repeat(row: list[float]) -> None:
    distances = [p for p in range(1, len(row)) if all(row[i] == row[i + p] for i in range(len(row) - p))]
    assert _period(row) == min(distances, default=len(row))


def test_a_copy_is_found_among_many_repeats_and_in_long_ones() -> None:
    draw = random.Random(2)
    rows = [[draw.random() for _ in range(40)] for _ in range(30)]
    assert list(copied(rows, "steps")) == []
    shuffled = draw.sample(rows[0], 40)
    assert list(copied([*rows, shuffled], "steps")) == ["steps of repeat 31 are those of an earlier one"], "of long ago"
    scaled = [1.01 * one for one in rows[-1]]
    assert list(copied([*rows, scaled], "steps")) == ["steps of repeat 31 are those of an earlier one"]
    long = [draw.random() for _ in range(600_000)]
    assert list(copied([long, [one + 1e-4 for one in long]], "steps")) == [
        "steps of repeat 2 are those of an earlier one"
    ]


@pytest.mark.parametrize("rows", [_nearly_equal(2000) * 3, _many_rows(2000)])
def test_a_record_with_other_samples_than_its_case_has_is_refused_before_they_are_compared(
    rows: list[list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    record: dict[str, Any] = load.parse((RESULTS / "smoke/gpt2-nano-fp32-adam--cpu-amd-epyc-2c.json").read_bytes())
    record["samples"]["step_s"] = rows
    monkeypatch.setattr("gpu_bench.record.training_checks.copied", lambda *told: pytest.fail("samples were compared"))
    assert load.faults(record)[0] == "samples are not 3 repeats of 20 steps"
