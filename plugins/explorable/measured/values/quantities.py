"""Values with units: one pint registry, and the format part of an inline number (`GB .2f`, `count`, `% .1f`)."""

from __future__ import annotations

import functools
import importlib.resources
import math
import re
from dataclasses import dataclass
from typing import Any

import pint

from explorable.book import Units, current
from explorable.measured.errors import MeasuredError
from explorable.shared.errors import nearest

COMMON_UNITS = (
    *("B", "kB", "MB", "GB", "TB", "PB", "KiB", "MiB", "GiB", "TiB", "GB/s", "TB/s"),
    *("s", "ms", "us", "min", "hour", "day", "year", "MHz", "GHz"),
    *("m", "mm", "km", "m**2", "m/s", "m**3/s", "L", "g", "kg", "t", "N", "Pa", "mol", "A", "V", "K", "degC"),
    *("USD", "USD/hour", "W", "kW", "J", "kWh", "MWh"),
    *("1", "count", "%", "x"),
)
"""What is offered when a unit is not known, besides those of the book. Any that can be built is allowed."""

_FACTOR = r"(?:1|%|[^\W\d]\w*)(?:(?:\*\*|\^)-?\d{1,2})?"
_UNIT = re.compile(rf"{_FACTOR}(?:\s*[*/]\s*{_FACTOR}){{0,9}}")
"""Products of names and small powers. The registry would evaluate any arithmetic: `9**9**9**9` for hours."""
_DEFINITION = re.compile(rf"([^\W\d]\w*)\s*=\s*(?:\[\w+\]|[\d.]+\s*\*\s*{_UNIT.pattern})(?:\s*=\s*[^\W\d]\w*){{0,9}}")
_PURE = {"count": "1", "x": "1"}
"""Ways to write a pure number that are not units."""
_SUFFIX = {"count": "", "1": "", "x": "×", "1/s": "/s"}
_SPEC = re.compile(r"(?P<sign>\+?)(?P<comma>,?)(?:\.(?P<digits>\d{1,2}))?(?P<kind>[fgd])")
_LONGEST_SYMBOL = 2
_LONGEST = 60
"""Characters of a wrong unit that a message quotes."""
_PRINTED = {"us": "µs", "um": "µm", "ug": "µg", "degC": "°C", "celsius": "°C", "deg": "°"}
"""Factors that are printed otherwise than they are written."""
_POWER = re.compile(r"(?:\*\*|\^)(-?\d+)")
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def registry() -> pint.UnitRegistry[Any]:
    """The only unit registry of a book: made once, from `units.txt` and what the book defines."""
    return _registry(current().units.lines)


@functools.cache
def _registry(defined: tuple[str, ...]) -> pint.UnitRegistry[Any]:
    lines = importlib.resources.files(__package__).joinpath("units.txt").read_text("utf-8").splitlines()
    return pint.UnitRegistry([*lines, *defined])


_DEFINE = "allowed: a line as 'guest = [guest]' or 'dozen = 12 * guest', with a symbol 'dozen = 12 * guest = dz'"


def wrong_definition(units: Units) -> str:
    """What is wrong with the units that a book defines; "" if nothing is."""
    for line in units.lines:
        if not _DEFINITION.fullmatch(line):
            return f"{line[:_LONGEST]!r} defines no unit; {_DEFINE}"
        name, _, *further = (part.strip() for part in line.split("="))
        if taken := next((one for one in (name, *further) if _is_taken(one)), ""):
            return f"there is a unit '{taken}' already; leave the line out, or choose another name"
    made = _registry(units.lines)
    try:
        for line in units.lines:
            made.get_base_units(line.split()[0])
    except (pint.errors.PintError, RecursionError) as error:
        return " ".join(str(error).split())
    return ""


def _is_taken(name: str) -> bool:
    """Whether every book has a unit of that name. A prefix with a unit may get another sense, as ft for feet."""
    found = _registry(()).parse_unit_name(name)
    return name in COMMON_UNITS or any(not prefix for prefix, _, _ in found)


def parse_unit(text: str) -> pint.Unit:
    """The unit that `text` names, e.g. `GB`, `GB/s`, `1`. Raises `MeasuredError` for an unknown one."""
    if not _UNIT.fullmatch(text):
        raise MeasuredError(
            f"unknown unit '{text[:_LONGEST]}'", "write names with *, / and small powers, as 'GB/s' or 'm**2'"
        )
    try:
        return _parsed(current().units.lines, text)
    except (pint.errors.PintError, ValueError, TypeError, AttributeError) as error:
        raise MeasuredError(*_unknown(text)) from error


@functools.cache
def _parsed(defined: tuple[str, ...], text: str) -> pint.Unit:
    return _registry(defined).parse_units(_PURE.get(text, text))


def _unknown(text: str) -> tuple[str, str]:
    """Which factor of a unit is not known, and the way out."""
    factors = (re.match(_FACTOR, part.strip()) for part in re.split(r"(?<!\*)[*/](?!\*)", text))
    names = [_POWER.sub("", found[0]) for found in factors if found]
    name = next((one for one in names if one != "1" and not _known(one)), text)
    meant = nearest(name, offered())
    perhaps = f"{meant}; or " if meant.startswith("perhaps") else ""
    define = f"{perhaps}define it among the book's units, by a line as 'guest = [guest]' or 'dozen = 12 * guest = dz'"
    return f"unknown unit '{name}'" + (f" in '{text}'" if name != text else ""), define


def _known(name: str) -> bool:
    try:
        return name in registry()
    except (pint.errors.PintError, ValueError):  # What pint takes for a number, as `nan`.
        return False


def offered() -> tuple[str, ...]:
    """What is offered when a unit is not known."""
    return (*COMMON_UNITS, *current().units.offered)


def quantity(value: float, unit: str) -> pint.Quantity[Any]:
    """`value` in `unit`; an `int` stays an `int`."""
    return registry().Quantity(value, parse_unit(unit))


def convert(value: pint.Quantity[Any], unit: str) -> float:
    """The number of `value` in `unit`. Raises `MeasuredError` when the dimensions differ."""
    target = parse_unit(unit)
    if value.units == target:
        return float(value.magnitude)
    try:
        return float(value.to(target).magnitude)
    except pint.DimensionalityError as error:
        what = f"the value is in {describe_unit(value)}, which cannot be shown in '{unit}'"
        fix = f"say its unit where it comes from, as in -> Annotated[float, '{unit}']" if value.unitless else ""
        raise MeasuredError(what, fix) from error


def describe_unit(value: pint.Quantity[Any]) -> str:
    """The unit of `value` in words an author recognizes: `'B'`, `'B/s'`, `'1' (a pure number)`."""
    symbol = unit_symbol(value)
    return "'1' (a pure number)" if symbol == "1" else f"'{symbol}'"


def unit_symbol(value: pint.Quantity[Any]) -> str:
    """The short form of the unit of `value`, e.g. `B`, `B/s`, `1`."""
    return f"{value.units:~C}".replace("**", "^") or "1"


@dataclass(frozen=True)
class Format:
    """How a number is shown: the unit, and a number format (`.2f`, `,.0f`, `.3g`, `d`; empty: four digits)."""

    unit: str
    spec: str = ""


@dataclass(frozen=True)
class Shown:
    """A number ready to print: value in the unit asked for, its text, and that of the unit (`""` for a pure one)."""

    value: float
    text: str
    unit: str

    @property
    def glued(self) -> str:
        """Number and unit."""
        return glue(self.text, self.unit)


def glue(text: str, unit: str) -> str:
    """A number and its printed unit with a space that does not break between them; `×`, `°` and `/s` need none."""
    return text + unit if unit in ("", "×", "°", "/s") else f"{text}\u00a0{unit}"


def parse_format(text: str) -> Format:
    """Read `GB .2f` into its unit and number format. Raises `MeasuredError` when either is not known."""
    unit, _, spec = text.strip().partition(" ")
    if not unit:
        raise MeasuredError("the unit is missing", "end the number with a unit, e.g. '| GB .2f' or '| count'")
    checked = Format(unit, spec.strip())
    parse_unit(checked.unit)
    if checked.spec and not _SPEC.fullmatch(checked.spec):
        raise MeasuredError(f"unknown number format '{checked.spec}'", "use one like '.2f', ',.0f', '.3g' or 'd'")
    return checked


def show(value: pint.Quantity[Any], form: Format) -> Shown:
    """`value` in the unit and number format of `form`. Raises `MeasuredError` when the dimensions differ."""
    spec = form.spec or (",d" if form.unit == "count" else "")
    number = convert(value, form.unit)
    return Shown(number, format_number(number, spec), unit_text(form.unit))


def unit_text(unit: str) -> str:
    """What is printed for a unit: its symbol, with what is counted in the plural and nothing for a pure number."""
    if unit in _SUFFIX:
        return _SUFFIX[unit]
    first = re.split(r"\W", unit, maxsplit=1)[0]
    plural = "s" if first in ("day", "hour", "year") or _is_counted(first) else ""
    text = re.sub(r"[^\W\d]+", lambda found: _PRINTED.get(found[0], found[0]), first + plural + unit[len(first) :])
    return powers(text).replace("*", "·")


def powers(unit: str) -> str:
    """A unit with its powers as small figures: m³/s."""
    return _POWER.sub(lambda found: found[1].translate(_SUPERSCRIPT), unit)


def _is_counted(name: str) -> bool:
    """Whether a name is a word of the book's own, which has a plural; a symbol has none, as metres are m, not ms."""
    words = {line.split()[0] for line in current().units.lines}
    return name in words and len(name) > _LONGEST_SYMBOL and f"{name}s" not in _registry(())


def format_number(value: float, spec: str) -> str:
    """`value` in a number format. Empty `spec`: four significant digits, thousands separated, never an exponent."""
    if not math.isfinite(value):
        raise MeasuredError(f"the value is {value}, which is not a number that can be shown")
    match = _SPEC.fullmatch(spec or ",.4g")
    if match is None:
        raise MeasuredError(f"unknown number format '{spec}'", "use one like '.2f', ',.0f', '.3g' or 'd'")
    sign, comma, digits, kind = match["sign"], match["comma"], match["digits"], match["kind"]
    if kind == "d":
        text = format(round(value), f"{sign}{comma}d")
    elif kind == "f":
        text = format(value, f"{sign}{comma}.{digits or 0}f")
    else:
        text = _significant(value, int(digits or 4), sign, comma, exponent_allowed=bool(spec))
    if not re.search("[1-9]", text):
        text = text.lstrip("+-")  # what rounds to zero has no sign
    return text.replace("-", "−")


def _significant(value: float, digits: int, sign: str, comma: str, *, exponent_allowed: bool) -> str:
    """`value` to `digits` significant digits, without trailing zeros; `1.24 × 10¹²` when it is very large or small."""
    digits = max(digits, 1)
    mantissa, _, exponent = format(value, f"{sign}.{digits - 1}e").partition("e")
    power = int(exponent)
    if exponent_allowed and value and not -4 <= power < 7:
        return f"{mantissa} × 10{str(power).translate(_SUPERSCRIPT)}"
    rounded = round(value, digits - 1 - power)
    text = format(rounded, f"{sign}{comma}.{max(0, digits - 1 - power)}f")
    return text.rstrip("0").rstrip(".") if "." in text else text
