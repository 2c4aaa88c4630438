"""Predictors of updates, on sequences whose continuation is known."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gpu_bench.experiments.hybrid.predictors import (
    DynamicModes,
    LastUpdate,
    LinearFit,
    MeanUpdate,
    NoOp,
    Predictor,
    likeness,
)
from gpu_bench.experiments.hybrid.recurrent import Recurrent

SHAPES = ((3, 4), (5,))


def split(flat: Tensor) -> list[Tensor]:
    """One vector as the tensors of a model."""
    sizes = [torch.Size(shape).numel() for shape in SHAPES]
    return [part.reshape(shape) for part, shape in zip(torch.split(flat, sizes), SHAPES, strict=True)]


def taught(predictor: Predictor, sequence: list[Tensor]) -> Predictor:
    for flat in sequence:
        predictor.observe(split(flat))
    return predictor


def assert_says(predictor: Predictor, ahead: int, flat: Tensor) -> None:
    said = predictor.predict(ahead)
    assert said is not None
    for part, expected in zip(said, split(flat), strict=True):
        torch.testing.assert_close(part, expected, rtol=1e-6, atol=1e-9)


seeds, ahead = st.integers(0, 2**31), st.integers(1, 20)


@given(seeds, ahead, st.integers(2, 9))
def test_a_line_is_continued(seed: int, ahead: int, history: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    start, slope = torch.randn(2, 17, generator=draw, dtype=torch.float64)
    predictor = taught(LinearFit(history), [start + slope * step for step in range(history + 2)])
    assert_says(predictor, ahead, start + slope * (history + 1 + ahead))


@given(seeds, ahead)
def test_decaying_modes_are_continued(seed: int, ahead: int) -> None:
    """Two modes, one of which changes its sign each step, so that a straight line cannot predict them."""
    draw = torch.Generator().manual_seed(seed)
    one, other = torch.linalg.qr(torch.randn(17, 2, generator=draw, dtype=torch.float64)).Q.T
    at = [0.9**step * one + (-0.7) ** step * other for step in range(8 + ahead + 1)]
    assert_says(taught(DynamicModes(6, 2), at[:8]), ahead, at[7 + ahead])


@given(seeds, ahead)
def test_growing_modes_are_predicted_to_stay_as_they_are(seed: int, ahead: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    one = torch.randn(17, generator=draw, dtype=torch.float64)
    assert_says(taught(DynamicModes(5, 1), [1.5**step * one for step in range(5)]), ahead, 1.5**4 * one)


@given(seeds, ahead)
def test_last_mean_and_nothing(seed: int, ahead: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    updates = list(torch.randn(6, 17, generator=draw, dtype=torch.float64))
    assert_says(taught(LastUpdate(), updates), ahead, updates[-1])
    assert_says(taught(MeanUpdate(4), updates), ahead, torch.stack(updates[-4:]).mean(0))
    assert_says(taught(NoOp(), updates), ahead, torch.zeros(17, dtype=torch.float64))


@pytest.mark.parametrize("predictor", [LastUpdate(), NoOp(), LinearFit(4), DynamicModes(4, 2), Recurrent(4)])
def test_nothing_is_predicted_before_enough_updates_are_known(predictor: Predictor) -> None:
    for _ in range(predictor.history - 1):
        predictor.observe(split(torch.ones(17)))
        assert predictor.predict(1) is None
    predictor.observe(split(torch.ones(17)))
    assert predictor.predict(1) is not None


def test_the_recurrent_network_learns_what_the_last_update_cannot_predict() -> None:
    """Updates that change their sign each step: the last one is exactly wrong."""
    draw = torch.Generator().manual_seed(1)
    direction = torch.randn(17, generator=draw)
    predictor = taught(Recurrent(6), [(-1.0) ** step * direction for step in range(150)])
    for steps in (1, 2):
        said = predictor.predict(steps)
        assert said is not None
        cosine, _ = likeness(said, split((-1.0) ** (149 + steps) * direction))
        assert cosine > 0.9


@given(seeds)
@settings(max_examples=20)
def test_likeness_is_cosine_and_relative_error(seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    one, other = torch.randn(2, 17, generator=draw, dtype=torch.float64)
    cosine, error = likeness(split(one), split(other))
    assert cosine == pytest.approx(float(torch.cosine_similarity(one, other, dim=0)))
    assert error == pytest.approx(float((one - other).norm() / other.norm()))
    cosine, error = likeness(split(torch.zeros(17)), split(other))
    assert cosine == 0
    assert error == pytest.approx(1)


def test_impossible_predictors_are_refused() -> None:
    for make in (lambda: LinearFit(1), lambda: DynamicModes(3, 3), lambda: Recurrent(1), lambda: MeanUpdate(0)):
        with pytest.raises(ValueError, match="is not allowed"):
            make()
