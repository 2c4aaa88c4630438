"""Units: annotations that say what a plain number means, and decimal or binary formatting of bytes.

Values stay plain `int` and `float` (or NumPy arrays in sweeps). The annotation of a field, property or return type
carries a `Unit` whose symbol the `pint` library understands, so that tools can check dimensions without running code:

    typing.get_type_hints(function, include_extras=True)["return"]  ->  Annotated[int, Unit("B")]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, get_args

from engine.core.errors import EngineError


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
Hertz = Annotated[float, Unit("Hz")]
Dollars = Annotated[float, Unit("USD")]
DollarsPerHour = Annotated[float, Unit("USD/hour")]
Gigabytes = Annotated[float, Unit("GB")]
Kilograms = Annotated[float, Unit("kg")]
BytesPerSecond = Annotated[float, Unit("B/s")]
FlopsPerSecond = Annotated[float, Unit("FLOP/s")]
FlopsPerByte = Annotated[float, Unit("FLOP/B")]
PerSecond = Annotated[float, Unit("1/s")]

GB = 10**9
"""Bytes in a gigabyte (decimal)."""
GIB = 2**30
"""Bytes in a gibibyte (binary)."""

_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


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


def format_bytes(value: float, *, binary: bool = False, digits: int = 2) -> str:
    """Bytes with the largest unit that keeps the number at or above one: `"12.46 GB"`, or `"11.61 GiB"` if `binary`."""
    base, symbols = (1024, _BINARY) if binary else (1000, _DECIMAL)
    if value < 0:
        raise EngineError(f"bytes {value!r} is not allowed; it must be at least 0")
    scaled, index = float(value), 0
    # Rounding first keeps 999.999 MB from being printed as "1000.00 MB".
    while round(scaled, digits) >= base and index < len(symbols) - 1:
        scaled /= base
        index += 1
    return f"{scaled:.{0 if index == 0 else digits}f} {symbols[index]}"
