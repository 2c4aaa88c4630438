"""The few functions that formulas need beyond operators, for plain numbers and for NumPy arrays alike.

An array brings its own namespace (`__array_namespace__`, the Python array API standard), so NumPy is never imported
here and need not be installed. Annotations elsewhere say `float`: a formula written with operators and these helpers
takes an array wherever it takes a number, and returns one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw.core.errors import EngineError, require_positive, whole_number

MOST = 10**300
"""Larger whole numbers are refused where a real number is asked for: a float cannot hold much larger ones."""


def _namespace(*values: Any) -> Any:
    """The array namespace of the first array among `values`, or None when all are plain numbers."""
    for value in values:
        if hasattr(value, "__array_namespace__"):
            return value.__array_namespace__()
    return None


@dataclass(frozen=True, slots=True)
class Numbers:
    """The functions below, looked up once, for formulas that call them many times."""

    maximum: Callable[[float, float], float]
    minimum: Callable[[float, float], float]
    ceil_division: Callable[[float, float], float]
    where: Callable[[bool, float, float], float]


def _scalar_ceil_division(a: float, b: float) -> float:
    return -(-a // b)


def _scalar_where(condition: bool, if_true: float, if_false: float) -> float:
    return if_true if condition else if_false


_SCALARS = Numbers(max, min, _scalar_ceil_division, _scalar_where)


def numbers(*values: Any) -> Numbers:
    """Functions that fit `values`: Python's own for plain numbers, the array's for arrays."""
    namespace = _namespace(*values)
    if namespace is None:
        return _SCALARS

    def ceil_division(a: Any, b: Any) -> Any:
        quotient = a / b
        return namespace.ceil(quotient, out=quotient)  # in place: sweeps spend most of their time here

    return Numbers(namespace.maximum, namespace.minimum, ceil_division, namespace.where)


def as_floats(value: Any) -> Any:
    """An array of whole numbers as one of floats, which long formulas are faster on; plain numbers as they are."""
    namespace = _namespace(value)
    return value if namespace is None else namespace.astype(value, namespace.float64)


def whole_numbers(what: str, value: Any) -> Any:
    """A whole number as Python's own, or an array of them in 64 bits: products of narrower ones would overflow.

    Raises:
        EngineError: Something else, below one, or too large.
    """
    if not getattr(value, "shape", ()):
        return whole_number(what, value)
    require_positive(what, value)
    namespace = _namespace(value)
    return value if namespace is None else namespace.astype(value, namespace.int64)


def require_number(what: str, value: Any) -> None:
    """Raise `EngineError` unless `value` is a plain number or an array of numbers: no text, no boolean, no Decimal."""
    if type(value) is float:
        return
    kind = value.dtype.kind if hasattr(value, "dtype") else ""
    if isinstance(value, bool) or not (isinstance(value, float | int) or kind in ("f", "i", "u")):
        raise EngineError(what, value, "a number")
    if isinstance(value, int) and abs(value) > MOST:
        raise EngineError(what, value, "finite and at most 1e300")
    if 0 in getattr(value, "shape", ()):
        raise EngineError(what, value, "an array that is not empty")


def maximum(a: float, b: float) -> float:
    """The larger of two numbers, element by element for arrays."""
    namespace = _namespace(a, b)
    if namespace is None:
        return a if a >= b else b
    result: float = namespace.maximum(namespace.asarray(a), namespace.asarray(b))
    return result


def minimum(a: float, b: float) -> float:
    """The smaller of two numbers, element by element for arrays."""
    namespace = _namespace(a, b)
    if namespace is None:
        return a if a <= b else b
    result: float = namespace.minimum(namespace.asarray(a), namespace.asarray(b))
    return result


def ceil(value: float) -> float:
    """The smallest whole number that is not below `value`."""
    namespace = _namespace(value)
    result: float = math.ceil(value) if namespace is None else namespace.ceil(value)
    return result


def sqrt(value: float) -> float:
    """Square root."""
    namespace = _namespace(value)
    result: float = math.sqrt(value) if namespace is None else namespace.sqrt(value)
    return result


def log2(value: float) -> float:
    """Logarithm to base two."""
    namespace = _namespace(value)
    result: float = math.log2(value) if namespace is None else namespace.log2(value)
    return result


def where(condition: bool, if_true: float, if_false: float) -> float:
    """`if_true` where the condition holds, else `if_false`; both are evaluated."""
    namespace = _namespace(condition, if_true, if_false)
    if namespace is None:
        return if_true if condition else if_false
    result: float = namespace.where(condition, if_true, if_false)
    return result


def _ends(what: str, value: Any) -> tuple[Any, Any]:
    """The smallest and the largest element; a number is both."""
    require_number(what, value)
    return (value.min(), value.max()) if hasattr(value, "min") else (value, value)


def require_at_least(what: str, value: float, lowest: float) -> None:
    """Raise `EngineError` unless the number, or every element of the array, is finite and at least `lowest`."""
    smallest, largest = _ends(what, value)
    if not (smallest >= lowest and largest < math.inf):
        raise EngineError(what, value, f"a finite number of at least {lowest:g}")


def require_each(lowest: float, values: Mapping[str, float]) -> None:
    """Raise `EngineError` unless every number, or every element of an array, is finite and at least `lowest`."""
    for what, value in values.items():
        require_at_least(what, value, lowest)


def require_above_zero(what: str, value: float) -> None:
    """Raise `EngineError` unless the number, or every element of the array, is finite and above zero."""
    smallest, largest = _ends(what, value)
    if not (smallest > 0 and largest < math.inf):
        raise EngineError(what, value, "a finite number above 0")


def require_fraction(what: str, value: float) -> None:
    """Raise `EngineError` unless the number, or every element of the array, lies between 0 and 1."""
    smallest, largest = _ends(what, value)
    if not (smallest >= 0 and largest <= 1):
        raise EngineError(what, value, "between 0 and 1")


def probability(what: str, value: Any) -> float:
    """A probability below one, the same for all. Raises `EngineError` for anything else, arrays included."""
    require_number(what, value)
    if getattr(value, "shape", ()) or not 0 <= value < 1:
        raise EngineError(what, value, "at least 0 and below 1")
    return value  # type: ignore[no-any-return]  # a number, as just checked
