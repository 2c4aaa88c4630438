"""Answers that are found ahead are those that were asked for, each found once, in order and by one thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from explorable.shared.ahead import Ahead


class Finder:
    """Finds squares while its gate is open, and says what it was asked for by which thread."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.begun = threading.Event()
        self.gate.set()
        self.asked: list[int] = []
        self.threads: set[int] = set()

    def __call__(self, number: int) -> int:
        self.asked.append(number)
        self.threads.add(threading.get_ident())
        self.begun.set()
        self.gate.wait()
        if number < 0:
            raise ValueError(f"{number} is negative")
        return number**2


@contextmanager
def searching(finder: Finder) -> Iterator[Ahead[int, int]]:
    ahead = Ahead(finder)
    try:
        yield ahead
    finally:
        ahead.end(finder.gate.set)


def test_answers_are_found_once_in_the_order_in_which_they_were_wanted_by_one_thread() -> None:
    finder = Finder()
    with searching(finder) as ahead:
        ahead.begin([3, 1, 2, 3])
        ahead.begin([1])
        assert [ahead.answer(one) for one in (1, 2, 3)] == [1, 4, 9]
    assert finder.asked == [3, 1, 2]
    assert len(finder.threads) == 1
    assert threading.get_ident() not in finder.threads


def test_what_was_not_begun_or_is_asked_again_is_found_then() -> None:
    finder = Finder()
    with searching(finder) as ahead:
        assert [ahead.answer(one) for one in (5, 5)] == [25, 25]
    assert finder.asked == [5, 5]


def test_a_fault_is_told_to_who_asks_for_it_and_stops_no_other_answer() -> None:
    with searching(Finder()) as ahead:
        ahead.begin([-1, 4])
        assert ahead.answer(4) == 16
        with pytest.raises(ValueError, match="-1 is negative"):
            ahead.answer(-1)


def test_after_the_end_nothing_that_waited_is_found_and_it_can_begin_anew() -> None:
    finder = Finder()
    with searching(finder) as ahead:
        finder.gate.clear()
        ahead.begin(range(100))
        assert finder.begun.wait(60)
        ahead.end(finder.gate.set)
        assert finder.asked == [0]
        assert ahead.answer(6) == 36
    assert finder.asked == [0, 6]
