"""Units and number formats of inline numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ironlaw.core.units
from explorable.book import Book, Units
from explorable.measured.errors import MeasuredError
from explorable.measured.values import quantities
from explorable.measured.values.quantities import (
    convert,
    format_number,
    offered,
    parse_format,
    parse_unit,
    quantity,
    show,
    wrong_definition,
)

ROOT = Path(__file__).resolve().parents[3]
SAME_DIMENSION = [
    ("B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "bit"),
    ("s", "ms", "us", "min", "hour", "day", "year"),
    ("FLOP", "GFLOP", "TFLOP", "PFLOP"),
    ("FLOP/s", "TFLOP/s", "PFLOP/hour"),
    ("J", "kWh", "MWh", "W*s"),
    ("USD/hour", "USD/day"),
    ("1", "count", "x", "%"),
]
pairs = st.sampled_from(SAME_DIMENSION).flatmap(lambda units: st.tuples(*[st.sampled_from(units)] * 2))


def shown(value: float, unit: str, form: str) -> str:
    return show(quantity(value, unit), parse_format(form)).glued


@given(pair=pairs, value=st.floats(min_value=1e-6, max_value=1e18))
def test_units_survive_a_round_trip(pair: tuple[str, str], value: float) -> None:
    there = convert(quantity(value, pair[0]), pair[1])
    back = convert(quantity(there, pair[1]), pair[0])
    assert math.isclose(back, value, rel_tol=1e-12)


@given(one=st.integers(0, 6), other=st.integers(0, 6), value=st.floats(min_value=1e-6, max_value=1e18))
def test_a_value_is_never_shown_in_another_dimension(one: int, other: int, value: float) -> None:
    if one == other:
        return
    with pytest.raises(MeasuredError, match="cannot be shown in"):
        convert(quantity(value, SAME_DIMENSION[one][0]), SAME_DIMENSION[other][0])


@given(count=st.integers(min_value=0, max_value=10**15))
def test_a_guestof_bytes_is_exact_in_bytes(count: int) -> None:
    assert shown(count, "B", "B d") == f"{count}\u00a0B"
    assert shown(count, "1", "count") == f"{count:,}"


def test_b_means_byte_and_gb_is_decimal_while_gib_is_binary() -> None:
    assert convert(quantity(1, "B"), "bit") == 8
    assert convert(quantity(1, "GB"), "B") == 10**9
    assert convert(quantity(1, "GiB"), "B") == 2**30


def test_adam_state_of_gpt2_xl_reads_12_46_gb_and_11_6_gib() -> None:
    assert shown(12_460_889_600, "B", "GB .2f") == "12.46\u00a0GB"
    assert shown(12_460_889_600, "B", "GiB .1f") == "11.6\u00a0GiB"


@pytest.mark.parametrize(
    ("value", "unit", "form", "text"),
    [
        (0.0123, "s", "ms .1f", "12.3\u00a0ms"),
        (0.385, "1", "% .1f", "38.5\u00a0%"),
        (2.613, "1", "x .2f", "2.61×"),
        (1_557_611_200, "1", "count", "1,557,611,200"),
        (123.456, "1", "1 .3g", "123"),
        (1.23456e12, "1", "1 .3g", "1.23 × 10¹²"),
        (1.5e-7, "1", "1 .2g", "1.5 × 10⁻⁷"),
        (989.4e12, "FLOP/s", "TFLOP/s", "989.4\u00a0TFLOP/s"),
        (12_457.3, "token/s", "token/s ,.0f", "12,457\u00a0tokens/s"),
        (-3.25, "s", "s .2f", "−3.25\u00a0s"),
        (0, "B", "GB .3g", "0\u00a0GB"),
        (-0.004, "s", "s +.1f", "0.0\u00a0s"),
        (40, "m**3/s", "m**3/s .1f", "40.0\u00a0m³/s"),
        (40, "m^3/s", "L/s d", "40000\u00a0L/s"),
        (2, "1/m**2", "m**-2 d", "2\u00a0m⁻²"),
        (45, "deg", "deg d", "45°"),
        (3e-6, "m", "um d", "3\u00a0µm"),
        (300, "K", "degC .2f", "26.85\u00a0°C"),
        (2, "kN*m", "kJ d", "2\u00a0kJ"),
    ],
)
def test_a_number_is_shown_in_its_format(value: float, unit: str, form: str, text: str) -> None:
    assert shown(value, unit, form) == text


@given(value=st.floats(min_value=-1e15, max_value=1e15, allow_subnormal=False))
def test_the_default_format_keeps_four_significant_digits(value: float) -> None:
    text = format_number(value, "").replace(",", "").replace("−", "-")
    assert "e" not in text
    assert math.isclose(float(text), value, rel_tol=5.0001e-4)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("", "the unit is missing"),
        ("gb .2f", "perhaps 'GB' is meant"),
        ("furlong", "unknown unit 'furlong'; define it .* 'dozen = 12 \\* guest = dz'"),
        ("m**3*furlong**2/s", r"unknown unit 'furlong' in 'm\*\*3\*furlong\*\*2/s'"),
        ("nan", "unknown unit 'nan'"),
        ("GB 2f", "unknown number format '2f'"),
        ("GB .2e", "unknown number format '.2e'"),
    ],
)
def test_a_wrong_format_says_what_is_meant(form: str, message: str) -> None:
    with pytest.raises(MeasuredError, match=message):
        parse_format(form)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_what_is_not_a_number_is_not_shown(value: float) -> None:
    with pytest.raises(MeasuredError, match="not a number that can be shown"):
        shown(value, "1", "1 .2f")


def test_a_number_without_a_unit_says_where_one_is_written() -> None:
    with pytest.raises(MeasuredError, match=r"a pure number.* say its unit .* -> Annotated\[float, 'm\*\*3/s'\]"):
        shown(40, "1", "m**3/s .1f")


def test_every_unit_that_is_offered_is_known() -> None:
    assert {"GB", "TFLOP/s"} <= {*offered()}
    for unit in offered():
        parse_unit(unit)


@pytest.mark.parametrize(
    "units",
    [
        "m mm cm km m**2 ha m**3 L mL l metre litre g mg kg t s min h d week year Hz m/s km/h m**3/s N Pa hPa bar J eV",
        "W kWh A C V ohm kΩ F S T H mol mol/L K degC celsius cd lm lx rad deg Bq Gy Sv % ppm µm m³/s",
    ],
)
def test_the_units_of_every_field_are_known(units: str) -> None:
    for unit in units.split():
        parse_unit(unit)


def test_a_books_word_has_a_plural_and_its_symbol_none(monkeypatch: pytest.MonkeyPatch) -> None:
    units = Units("dozen = 12 * guest = dz\nguest = [guest]\nfoot = 0.3048 * m = ft\nwr = [weir]")
    assert not wrong_definition(units)
    monkeypatch.setattr(quantities, "current", lambda: Book(units=units))
    assert shown(2, "dozen", "dozen d") == "2\u00a0dozens"
    assert shown(2, "dozen", "dz d") == "2\u00a0dz"
    assert shown(3.048, "m", "ft .1f") == "10.0\u00a0ft"
    assert shown(2, "wr/s", "wr/s d") == "2\u00a0wr/s"


@pytest.mark.parametrize(
    "line", ["metre = [length]", "meter = [length] = m", "gast = [gast] = g", "mile = 1.6 * km = km"]
)
def test_no_unit_of_every_book_is_defined_again(line: str) -> None:
    assert "already; leave the line out, or choose another name" in wrong_definition(Units(line))


def test_every_unit_of_the_engine_is_known() -> None:
    symbols = {
        item.symbol
        for alias in vars(ironlaw.core.units).values()
        for item in get_args(alias)
        if isinstance(item, ironlaw.core.units.Unit)
    }
    assert "B" in symbols
    for symbol in symbols:
        parse_unit(symbol)


def test_every_unit_of_the_record_schema_is_known() -> None:
    schema = json.loads((ROOT / "gpu_bench/record/schema.json").read_text("utf-8"))
    units = set(_units(schema))
    assert {"s", "B"} <= units
    for unit in units:
        parse_unit(unit)


def _units(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [unit for item in schema for unit in _units(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema["unit"]] if isinstance(schema.get("unit"), str) else []
    return own + [unit for item in schema.values() for unit in _units(item)]
