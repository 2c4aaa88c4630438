"""Units: annotations that say what a plain number means.

Values stay plain `int` and `float` (or NumPy arrays in sweeps). The annotation of a field, property or return type
carries a `Unit` whose symbol the `pint` library understands, so that tools can check dimensions without running code:

    typing.get_type_hints(function, include_extras=True)["return"]  ->  Annotated[int, Unit("B")]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, get_args


@dataclass(frozen=True)
class Unit:
    """The unit of an annotated quantity; `symbol` is a pint-compatible string, `"1"` for a pure number."""

    symbol: str


Bytes = Annotated[int, Unit("B")]
Traffic = Annotated[float, Unit("B")]  # bytes that need not be whole: averages, shares, products of sizes
Count = Annotated[int, Unit("1")]
Ratio = Annotated[float, Unit("1")]
Flops = Annotated[float, Unit("FLOP")]
Seconds = Annotated[float, Unit("s")]
Watts = Annotated[float, Unit("W")]
Joules = Annotated[float, Unit("J")]
Dollars = Annotated[float, Unit("USD")]
DollarsPerHour = Annotated[float, Unit("USD/hour")]
Gigabytes = Annotated[float, Unit("GB")]
BytesPerSecond = Annotated[float, Unit("B/s")]
FlopsPerSecond = Annotated[float, Unit("FLOP/s")]
FlopsPerByte = Annotated[float, Unit("FLOP/B")]
PerSecond = Annotated[float, Unit("1/s")]

GB = 10**9
"""Bytes in a gigabyte (decimal)."""
GIB = 2**30
"""Bytes in a gibibyte (binary)."""


def unit_of(annotation: Any) -> str | None:
    """The unit symbol carried by a resolved type annotation, or None when it carries none.

    A tuple or mapping of quantities carries the unit of its items.
    """
    for argument in get_args(annotation):
        if isinstance(argument, Unit):
            return argument.symbol
    for argument in reversed(get_args(annotation)):
        if (symbol := unit_of(argument)) is not None:
            return symbol
    return None
