"""Units: what annotations say."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from importlib import import_module
from pathlib import Path
from typing import Any

import pint

import ironlaw
from ironlaw import GB, GIB
from ironlaw.answers.estimate import MemoryBytes
from ironlaw.core import unit_of
from ironlaw.core.sizes import Size
from ironlaw.memory import MemoryLedger

HERE = Path(ironlaw.__path__[0])
APART = ("calibration", "cli")
"""The command line takes text, and calibration multiplies by ratios that have no unit."""
FILES = sorted(path.relative_to(HERE) for path in HERE.glob("*/**/*.py"))
MODULES = [
    import_module(".".join(("ironlaw", *path.with_suffix("").parts))) for path in FILES if path.parts[0] not in APART
]
NAMES = {
    name: thing
    for module in MODULES
    for name, thing in vars(module).items()
    if not name.startswith("_") and not str(getattr(thing, "__module__", "")).startswith("ironlaw.calibration")
}
"""The names of all other modules."""


def test_gigabyte_and_gibibyte_differ() -> None:
    assert (GB, GIB) == (1_000_000_000, 1_073_741_824)


def _public_dataclasses() -> list[type]:
    return [thing for thing in NAMES.values() if inspect.isclass(thing) and dataclasses.is_dataclass(thing)]


def _hints(thing: Any) -> dict[str, Any]:
    """Annotations with their units. Some rooms import what they only annotate with for type checkers alone."""
    return typing.get_type_hints(thing, localns=NAMES, include_extras=True)


def test_every_number_of_a_public_dataclass_carries_a_unit() -> None:
    bare = [
        f"{cls.__name__}.{name}"
        for cls in _public_dataclasses()
        for name, hint in _hints(cls).items()
        if hint in (int, float)
    ]
    assert len(_public_dataclasses()) > 40
    # The unit of a line and of a polynomial is that of what they sum, and a measured figure's that of what it measures;
    # loss scales are pure numbers.
    apart = {"Line.value", "Polynomial.constant", "LossScaleWindow.lowest", "LossScaleWindow.highest"}
    apart |= {f"Placed.{name}" for name in ("measured", "expected", "low", "high")}
    assert set(bare) == apart


def test_every_byte_a_public_function_takes_or_gives_has_its_unit() -> None:
    functions = [thing for thing in NAMES.values() if inspect.isfunction(thing)]
    hints = {
        f"{function.__name__}({name})": hint
        for function in functions
        for name, hint in _hints(function).items()
        if name.endswith("bytes") or name in ("moved", "size") or (name == "return" and "bytes" in function.__name__)
    }
    assert {"intensity(moved)", "matmul_intensity(element_bytes)", "ring_all_reduce(size)"} <= hints.keys()
    assert [what for what, hint in hints.items() if unit_of(hint) != "B" and hint not in (str, Size, MemoryBytes)] == []


def test_every_unit_is_known_to_pint() -> None:
    registry: pint.UnitRegistry[float] = pint.UnitRegistry()
    for definition in ("FLOP = [operations]", "USD = [money]"):
        registry.define(definition)
    from ironlaw.core import units

    symbols = {s for hint in vars(units).values() if (s := unit_of(hint)) is not None}
    assert {"B", "FLOP/s", "s", "1"} <= symbols
    assert all(registry.parse_units(symbol) is not None for symbol in symbols)


def test_a_mapping_of_bytes_has_the_unit_of_its_values() -> None:
    hint = _hints(MemoryLedger.bytes_by_component)["return"]
    assert unit_of(hint) == "B"
    assert unit_of(str) is None
