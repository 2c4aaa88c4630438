"""The band of reserved memory: halves by model, the fitted one alone, and the engine's file holding what was fitted."""

from __future__ import annotations

import math

import pytest

from ironlaw.calibration import calibrate_reserved
from tools.accuracy.reserved import band, fitted_models, halves, judged, reserved, student


def test_no_model_is_in_both_halves_and_the_halves_follow_from_names_alone() -> None:
    fitted, others = halves(reserved())
    assert not {one.model for one in fitted} & {one.model for one in others}
    assert len(fitted) + len(others) == len(reserved()) > 70
    names = [f"model {number}" for number in range(40)]
    assert fitted_models(names) == fitted_models(reversed(names))
    assert len(fitted_models(names)) == 20


def test_the_engine_holds_the_band_of_the_fitted_half() -> None:
    fitted, _ = halves(reserved())
    made, found = band(fitted), calibrate_reserved(1e9)
    assert (found.runs, found.sources) == (len(fitted), len({one.model for one in fitted}))
    assert found.expected == pytest.approx(1e9 * math.exp(made.mean), rel=1e-5)
    assert found.high / found.low == pytest.approx(math.exp(2 * made.width), rel=1e-5)


def test_models_that_the_band_never_saw_lie_in_it_as_often_as_is_said() -> None:
    low, high = (calibrate_reserved(1.0).low, calibrate_reserved(1.0).high)
    _, others = halves(reserved())
    within = [low <= one.published / one.predicted <= high for one in others]
    assert judged()[1].covered == pytest.approx(sum(within) / len(within))
    assert judged()[1].covered >= 0.8


@pytest.mark.parametrize(("freedom", "width"), [(1, 6.314), (4, 2.132), (30, 1.697)])
def test_students_width_is_that_of_the_tables(freedom: int, width: float) -> None:
    """Source: any table of the distribution, 95 % one-sided."""
    assert student(freedom) == pytest.approx(width, abs=2e-3)
