"""Units: what annotations say, and how bytes are printed."""

from __future__ import annotations

import dataclasses
import inspect
import typing

import pint
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine import GB, GIB
from engine.core import format_bytes, unit_of


def test_gigabyte_and_gibibyte_differ() -> None:
    assert format_bytes(12_460_889_600) == "12.46 GB"
    assert format_bytes(12_460_889_600, binary=True) == "11.61 GiB"
    assert (GB, GIB) == (1_000_000_000, 1_073_741_824)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (999, "999 B"), (999_999_999, "1.00 GB"), (10**18, "1000.00 PB")]
)
def test_bytes_are_printed_with_the_largest_unit_that_fits(value: int, text: str) -> None:
    assert format_bytes(value) == text


@given(st.integers(0, 10**16), st.booleans())
def test_printed_bytes_read_back_within_the_last_digit(value: int, binary: bool) -> None:
    number, symbol = format_bytes(value, binary=binary).split()
    assert float(number) * _FACTORS[symbol] == pytest.approx(value, rel=0.005, abs=0.5)


_FACTORS = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50,
}  # fmt: skip


def _public_dataclasses() -> list[type]:
    return [o for n in engine.__all__ if inspect.isclass(o := getattr(engine, n)) and dataclasses.is_dataclass(o)]


def test_every_number_of_a_public_dataclass_carries_a_unit() -> None:
    bare = [
        f"{cls.__name__}.{name}"
        for cls in _public_dataclasses()
        for name, hint in typing.get_type_hints(cls, include_extras=True).items()
        if hint in (int, float)
    ]
    assert bare == []


def test_every_byte_a_public_function_takes_or_gives_has_its_unit() -> None:
    functions = [thing for name in engine.__all__ if inspect.isfunction(thing := getattr(engine, name))]
    hints = {
        f"{function.__name__}({name})": hint
        for function in functions
        for name, hint in typing.get_type_hints(function, include_extras=True).items()
        if name.endswith("bytes") or name in ("moved", "size") or (name == "return" and "bytes" in function.__name__)
    }
    assert {"intensity(moved)", "matmul_intensity(element_bytes)", "ring_all_reduce(size)"} <= hints.keys()
    assert [what for what, hint in hints.items() if unit_of(hint) != "B"] == ["format_bytes(return)"]


def test_every_unit_is_known_to_pint() -> None:
    registry: pint.UnitRegistry[float] = pint.UnitRegistry()
    for definition in ("FLOP = [operations]", "USD = [money]"):
        registry.define(definition)
    from engine.core import units

    symbols = {s for hint in vars(units).values() if (s := unit_of(hint)) is not None}
    assert {"B", "FLOP/s", "s", "1"} <= symbols
    assert all(registry.parse_units(symbol) is not None for symbol in symbols)


def test_a_mapping_of_bytes_has_the_unit_of_its_values() -> None:
    hint = typing.get_type_hints(engine.MemoryLedger.bytes_by_component, include_extras=True)["return"]
    assert unit_of(hint) == "B"
    assert unit_of(str) is None
