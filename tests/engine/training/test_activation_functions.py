"""Activation functions against torch: their values, their slopes, and what its autograd keeps for them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from ironlaw.core.errors import EngineError
from ironlaw.training import activation_function

TORCH: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu-tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "gelu-sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": functional.silu,
}
POINTS = [-30.0, -4.0, -1.5, -0.7, -0.1, 0.2, 0.75, 1.0, 2.5, 6.0, 30.0]


@pytest.mark.parametrize("name", TORCH)
def test_value_and_slope_equal_torchs(name: str) -> None:
    ours = activation_function(name)
    x = torch.tensor(POINTS, dtype=torch.float64, requires_grad=True)
    y = TORCH[name](x)
    (slopes,) = torch.autograd.grad(y.sum(), x)
    assert [ours.value(point) for point in POINTS] == pytest.approx(y.tolist(), abs=1e-12)
    assert [ours.slope(point) for point in POINTS] == pytest.approx(slopes.tolist(), abs=1e-12)


@pytest.mark.parametrize("name", [name for name in TORCH if name != "gelu-sigmoid"])
def test_autograd_keeps_what_is_stated(name: str) -> None:
    kept: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)
        return tensor

    x = torch.randn(8, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        y = TORCH[name](x)
    stated = {"input": x, "result": y}[activation_function(name).keeps]
    assert [tensor.data_ptr() for tensor in kept] == [stated.data_ptr()]


def test_gelus_forms_differ_by_less_than_one_in_a_thousand_and_one_in_forty() -> None:
    points = [step / 100 for step in range(-600, 601)]
    exact = activation_function("gelu").value

    def worst(name: str) -> float:
        return max(abs(activation_function(name).value(x) - exact(x)) for x in points)

    assert 0 < worst("gelu-tanh") < 1e-3
    assert 1e-2 < worst("gelu-sigmoid") < 1 / 40


def test_a_special_function_costs_what_it_is_charged() -> None:
    assert activation_function("relu").operations(50) == 1
    assert activation_function("gelu").operations(50) == 54
    with pytest.raises(EngineError, match="special function"):
        activation_function("gelu").operations(0)


def test_an_unknown_function_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(EngineError, match="gelu-tanh"):
        activation_function("elu")
