"""Checkpoints of a run: the intervals that Daly published, and the overhead against a simulated run."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.core.errors import EngineError
from ironlaw.economics.reliability import checkpoint_interval, failure_overhead, time_between_failures

MINUTE, HOUR = 60.0, 3600.0


@pytest.mark.parametrize(
    ("between_failures", "minutes"),
    # Captions of figures 3 to 5 of Daly 2006, saves of five minutes.
    [(24 * HOUR, 117), (6 * HOUR, 57), (15 * MINUTE, 9.1)],
)
def test_intervals_are_those_of_dalys_figures(between_failures: float, minutes: float) -> None:
    assert checkpoint_interval(5 * MINUTE, between_failures) / MINUTE == pytest.approx(minutes, rel=0.006)


def test_a_hundred_times_as_many_devices_save_ten_times_as_often() -> None:
    few, many = (checkpoint_interval(1.0, time_between_failures(n, 1e10)) for n in (10, 1000))
    assert few / many == pytest.approx(10, rel=0.01)


@given(save=st.floats(1, 600), between_failures=st.floats(4 * HOUR, 1000 * HOUR), factor=st.sampled_from([0.7, 1.4]))
def test_no_other_interval_loses_less(save: float, between_failures: float, factor: float) -> None:
    best = checkpoint_interval(save, between_failures)
    least = failure_overhead(best, save, between_failures)
    assert least < failure_overhead(factor * best, save, between_failures)


def test_the_overhead_is_that_of_a_run_with_failures_at_random() -> None:
    chance = random.Random(1)
    interval, save, between, restart, done, clock = 40.0, 2.0, 100.0, 5.0, 0, 0.0
    while done < 40_000:
        until = chance.expovariate(1 / between)
        if until >= interval + save:
            clock, done = clock + interval + save, done + 1
            continue
        clock += until
        while (until := chance.expovariate(1 / between)) < restart:
            clock += until
        clock += restart
    overhead = clock / (done * interval) - 1
    assert failure_overhead(interval, save, between, restart) == pytest.approx(overhead, rel=0.02)


def test_saves_that_take_longer_than_the_time_between_failures_leave_only_that_time() -> None:
    assert checkpoint_interval(300.0, 100.0) == 100.0


def test_times_that_make_no_sense_are_refused() -> None:
    with pytest.raises(EngineError, match="time of a save 0 is not allowed"):
        checkpoint_interval(0, 100)
    with pytest.raises(EngineError, match="devices 0 is not allowed"):
        time_between_failures(0, 100)
