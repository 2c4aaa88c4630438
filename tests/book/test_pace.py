"""What is off in time and in rate is said in one way, so that rows can be compared."""

from __future__ import annotations

import pytest

from book.pace import off
from explorable.measured.values.quantities import quantity


@pytest.mark.parametrize(
    ("value", "times", "said"),
    [
        ("2 s", 0.92, "8 % too fast"),
        ("2 s", 1.5, "50 % too slow"),
        ("2 token/s", 1.25, "+25 %, so 20 % too fast"),
        ("2 token/s", 0.8, "−20 %, so 25 % too slow"),
        ("2 GB", 1.1, "+10 %"),
        ("2 s", 1.001, "0 %"),
        ("2 W", 1.1, "+10 %"),
    ],
)
def test_what_is_off_in_time_and_in_rate_is_said_in_one_way(value: str, times: float, said: str) -> None:
    number, unit = value.split()
    assert off(quantity(float(number), unit), times) == said
