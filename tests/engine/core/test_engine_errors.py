"""Messages: one line, a value that is cut, the nearest name; and numbers as Python's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.core.arrays import whole_numbers
from engine.core.errors import LARGEST, LONGEST_VALUE, EngineError, closest, one_of, show, whole_number


class _Speechless:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "value",
    ["x" * 1000, 10**400, 10**5000, np.arange(9000), "a\nb", _Speechless()],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_shown_in_one_short_line(value: Any) -> None:
    text = show(value)
    assert "\n" not in text
    assert 0 < len(text) <= LONGEST_VALUE


def test_the_nearest_name_is_proposed_and_none_where_none_is_near() -> None:
    assert closest("btch", ("batch", "dropout")) == ", did you mean batch?"
    assert closest("seq", ("sequence", "sequence_parallel")) == ", did you mean sequence?"
    assert closest("zzz", ("batch", "dropout")) == ""
    assert str(one_of("link", 3, ("a", "b"))) == "link 3 is unknown; allowed: a, b"


@pytest.mark.parametrize("kind", [int, np.int8, np.int64, np.uint16, np.array])
def test_whole_numbers_become_pythons(kind: Any) -> None:
    assert type(whole_number("batch", kind(3))) is int
    assert type(whole_numbers("batch", kind(3))) is int


@pytest.mark.parametrize("value", [True, np.bool_(True), 3.0, "3", None, 0, LARGEST + 1, np.array([3, 4])])
def test_what_is_no_whole_number_in_range_is_refused(value: Any) -> None:
    with pytest.raises(EngineError, match=r"^batch .* is not allowed; it must be a whole number of at"):
        whole_number("batch", value)


def test_arrays_are_widened() -> None:
    assert whole_numbers("batch", np.array([1, 2], dtype=np.int16)).dtype == np.int64
