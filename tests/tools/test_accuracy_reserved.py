"""The band of reserved memory: halves by model, and what the band of the fitted one holds of the other."""

from __future__ import annotations

import math

import pytest

from tools.accuracy.reserved import band, fitted_models, halves, judged, reserved, student


def test_no_model_is_in_both_halves_and_the_halves_follow_from_names_alone() -> None:
    fitted, others = halves(reserved())
    assert not {one.model for one in fitted} & {one.model for one in others}
    assert len(fitted) + len(others) == len(reserved()) > 70
    names = [f"model {number}" for number in range(40)]
    assert fitted_models(names) == fitted_models(reversed(names))
    assert len(fitted_models(names)) == 20


def test_models_that_the_band_never_saw_lie_in_it_as_often_as_is_said() -> None:
    fitted, others = halves(reserved())
    made = band(fitted)
    low, high = (math.exp(made.mean + side * made.width) for side in (-1, 1))
    within = [low <= one.published / one.predicted <= high for one in others]
    assert judged()[1].covered == pytest.approx(sum(within) / len(within))
    assert judged()[1].covered >= 0.8


@pytest.mark.parametrize(("freedom", "width"), [(1, 6.314), (4, 2.132), (30, 1.697)])
def test_students_width_is_that_of_the_tables(freedom: int, width: float) -> None:
    """Source: any table of the distribution, 95 % one-sided."""
    assert student(freedom) == pytest.approx(width, abs=2e-3)
