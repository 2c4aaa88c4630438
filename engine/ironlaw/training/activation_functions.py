"""Activation functions one number at a time: value, slope, arithmetic, and what the backward pass asks for.

What they cost in a step is traffic (`ironlaw.graph.kernels`). The arithmetic is listed to show that it hardly matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ironlaw.core.arrays import require_at_least
from ironlaw.core.errors import entry
from ironlaw.core.units import Count

_ROOT_2_OVER_PI = math.sqrt(2 / math.pi)
_CUBIC = 0.044715
"""Coefficient of the cube in GELU's tanh form (Hendrycks and Gimpel 2016, arXiv 1606.08415, section 2)."""
_LOGISTIC = 1.702
"""Factor in GELU's sigmoid form (the same place)."""


@dataclass(frozen=True, slots=True)
class ActivationFunction:
    """A function that is applied to every number of a tensor by itself.

    Attributes:
        name: Short name.
        title: Name in tables.
        value: The function.
        slope: Its derivative, which the backward pass multiplies the gradient by.
        arithmetic: Additions, multiplications, divisions and comparisons for one value, written out plainly.
        special: Evaluations of exp, tanh or erf for one value.
        keeps: What the slope is computed from. A result costs no memory where the next product keeps it anyway.
        source: Who proposed it.
    """

    name: str
    title: str
    value: Callable[[float], float]
    slope: Callable[[float], float]
    arithmetic: Count
    special: Count
    keeps: Literal["input", "result"]
    source: str

    def operations(self, special_cost: Count = 1) -> Count:
        """Operations for one value, when a special function is charged as `special_cost` of them."""
        require_at_least("cost of a special function", special_cost, 1)
        return self.arithmetic + self.special * special_cost


def _sigmoid(x: float) -> float:
    # The exponential of a large number overflows; of its negative it does not.
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _sigmoid_slope(x: float) -> float:
    return _sigmoid(x) * (1 - _sigmoid(x))


def _relu(x: float) -> float:
    return max(x, 0.0)


def _relu_slope(x: float) -> float:
    return 1.0 if x > 0 else 0.0


def _tanh_slope(x: float) -> float:
    return 1 - math.tanh(x) ** 2


def _normal(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


def _gelu(x: float) -> float:
    return x * _normal(x)


def _gelu_slope(x: float) -> float:
    return _normal(x) + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _gelu_tanh(x: float) -> float:
    return x * (1 + math.tanh(_ROOT_2_OVER_PI * (x + _CUBIC * x**3))) / 2


def _gelu_tanh_slope(x: float) -> float:
    t = math.tanh(_ROOT_2_OVER_PI * (x + _CUBIC * x**3))
    return (1 + t) / 2 + x * (1 - t * t) * _ROOT_2_OVER_PI * (1 + 3 * _CUBIC * x * x) / 2


def _gelu_sigmoid(x: float) -> float:
    return x * _sigmoid(_LOGISTIC * x)


def _gelu_sigmoid_slope(x: float) -> float:
    return _sigmoid(_LOGISTIC * x) + _LOGISTIC * x * _sigmoid_slope(_LOGISTIC * x)


def _silu(x: float) -> float:
    return x * _sigmoid(x)


def _silu_slope(x: float) -> float:
    return _sigmoid(x) + x * _sigmoid_slope(x)


_GELU = "arXiv 1606.08415"
_FUNCTIONS = {
    function.name: function
    for function in (
        ActivationFunction("sigmoid", "sigmoid", _sigmoid, _sigmoid_slope, 3, 1, "result", "logistic function"),
        ActivationFunction("tanh", "tanh", math.tanh, _tanh_slope, 0, 1, "result", "hyperbolic tangent"),
        ActivationFunction("relu", "ReLU", _relu, _relu_slope, 1, 0, "result", "Nair and Hinton 2010"),
        ActivationFunction("gelu", "GELU", _gelu, _gelu_slope, 4, 1, "input", _GELU),
        ActivationFunction("gelu-tanh", "GELU by tanh", _gelu_tanh, _gelu_tanh_slope, 8, 1, "input", _GELU),
        ActivationFunction("gelu-sigmoid", "GELU by sigmoid", _gelu_sigmoid, _gelu_sigmoid_slope, 5, 1, "input", _GELU),
        ActivationFunction("silu", "SiLU", _silu, _silu_slope, 4, 1, "input", "arXiv 1606.08415; arXiv 1710.05941"),
    )
}


def activation_function(name: str) -> ActivationFunction:
    """The activation function called `name`. Raises `EngineError` for an unknown name."""
    return entry("activation function", name, _FUNCTIONS)
