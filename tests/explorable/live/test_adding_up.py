"""Parts rounded for a table: they add up, and none is shown a whole step from what it is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorable import live

AMOUNTS = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=2), st.floats(-1e4, 1e4, allow_nan=False), min_size=1, max_size=9
)


@given(AMOUNTS, st.integers(0, 3))
def test_the_shown_parts_add_up_and_stay_within_a_step(amounts: dict[str, float], digits: int) -> None:
    whole = sum(amounts.values())
    shown = live.adding_up(amounts, whole, digits=digits)
    assert list(shown) == list(amounts)
    assert sum(shown.values()) == pytest.approx(round(whole, digits), abs=1e-6)
    assert all(abs(shown[name] - amount) <= 10**-digits + 1e-6 for name, amount in amounts.items())


@given(st.lists(st.floats(-1e4, 1e4), max_size=8, unique=True), st.floats(-1e4, 1e4), st.integers(0, 3))
def test_equal_parts_are_shown_alike_where_others_can_take_what_is_left(
    others: list[float], twin: float, digits: int
) -> None:
    """Weights of 8.36 were once 8.4 and gradients of as many bytes 8.3."""
    amounts = {"one": twin, **{str(amount): amount for amount in others if amount != twin}, "two": twin}
    shown = live.adding_up(amounts, sum(amounts.values()), digits=digits)
    lower = [name for name, amount in amounts.items() if shown[name] == math.floor(amount * 10**digits) / 10**digits]
    assert shown["one"] == shown["two"] or set(lower) <= {"one", "two"}


@given(AMOUNTS, st.integers(0, 3), st.data())
def test_a_named_rest_takes_what_is_left(amounts: dict[str, float], digits: int, data: st.DataObject) -> None:
    whole, rest = sum(amounts.values()), data.draw(st.sampled_from(sorted(amounts)))
    shown = live.adding_up(amounts, whole, digits=digits, rest=rest)
    assert sum(shown.values()) == pytest.approx(round(whole, digits), abs=1e-6)
    assert all(shown[name] == round(amount, digits) for name, amount in amounts.items() if name != rest)


def test_nothing_adds_up_to_nothing() -> None:
    assert live.adding_up({}, 0) == {}
