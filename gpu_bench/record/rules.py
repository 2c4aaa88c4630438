"""What a value may be, said once: in the annotation of a dataclass's field, as `Annotated[float, Rule("s", above=0)]`.

`faults` holds plain data against a dataclass with Python alone, so a bare machine with a GPU judges its records as
everybody else does. At home pydantic reads the same annotations and writes the JSON Schema (`schema.py`).
"""

from __future__ import annotations

import math
import re
import sys
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin


@dataclass(frozen=True)
class Rule:
    """Bounds of a value."""

    unit: str = ""  # Of a number, in pint's notation; `1` is a pure number
    above: float | None = None  # A number is larger than this
    least: float | None = None  # A number is at least this
    most: float | None = None  # A number is at most this
    pattern: str = ""  # A text matches this as a whole
    longest: int = 0  # Characters of a text
    fewest: int = 0  # Items of a list, or of a mapping
    unstated: bool = False  # No record's file states the value: it follows from others, or it is of the plan alone

    def fault(self, value: Any) -> str | None:
        """What is wrong with a value of the right type, and what is allowed; None when nothing is wrong."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            if self.above is not None and not value > self.above:
                return f"{value} is too small; allowed: above {self.above:g}"
            if self.least is not None and not value >= self.least:
                return f"{value} is too small; allowed: {self.least:g} or more"
            if self.most is not None and not value <= self.most:
                return f"{value} is too large; allowed: {self.most:g} or less"
        elif isinstance(value, str):
            if self.pattern and not re.fullmatch(self.pattern, value):
                return f"{value[:80]!r} is no such text; allowed: {self.pattern}"
            if self.longest and len(value) > self.longest:
                return f"{len(value)} characters are too many; allowed: {self.longest}"
        elif self.fewest and isinstance(value, list | tuple | Mapping) and len(value) < self.fewest:
            return f"{len(value)} items are too few; allowed: {self.fewest} or more"
        return None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """The same bounds for pydantic, which asks for them when it is there."""
        from gpu_bench.record.schema import bounded

        return bounded(self, handler(source))

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> Any:
        """What JSON Schema says of the value besides."""
        from gpu_bench.record.schema import annotated

        return annotated(self, handler(core))


DERIVED = Rule(unstated=True)
Count = Annotated[int, Rule("1", least=1, most=10**12)]
Whole = Annotated[int, Rule("1", least=0, most=2**63)]
Steps = Annotated[int, Rule("step", least=1, most=10**9)]
Tokens = Annotated[int, Rule("token", least=1, most=10**15)]
Bytes = Annotated[int, Rule("B", least=0, most=10**18)]
Seconds = Annotated[float, Rule("s", above=0, most=10**8)]
Duration = Annotated[float, Rule("s", least=0, most=10**8)]
Number = Annotated[float, Rule("1")]
Amount = Annotated[float, Rule("1", least=0)]
Share = Annotated[float, Rule("1", least=0, most=1)]
Slug = Annotated[str, Rule(pattern="[a-z0-9]+(-[a-z0-9]+)*", longest=120)]
Words = Annotated[str, Rule(longest=200)]
Message = Annotated[str, Rule(longest=4000)]
Hash = Annotated[str, Rule(pattern="[0-9a-f]{64}")]


def hints(kind: Any) -> dict[str, tuple[Field[Any], Any]]:
    """The fields of a dataclass, each with its annotation."""
    return _hints(kind)


@cache
def _hints(kind: Any) -> dict[str, tuple[Field[Any], Any]]:
    found = typing.get_type_hints(kind, include_extras=True)
    return {one.name: (one, found[one.name]) for one in fields(kind)}


def rules_of(hint: Any) -> list[Rule]:
    """The rules of an annotation."""
    return [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Rule)]


def stated(hint: Any) -> bool:
    """Whether a record's file states a field with this annotation."""
    return not any(rule.unstated for rule in rules_of(hint))


def stored(kind: Any, value: Any) -> Any:
    """What a record's file keeps of plain data that is of a type: whatever the type states, and nothing else."""
    if get_origin(kind) is Annotated:
        return stored(get_args(kind)[0], value)
    if get_origin(kind) in (Union, types.UnionType):
        known = [one for one in get_args(kind) if is_dataclass(one)]
        return stored(_fitting(known, value)[0], value) if known and isinstance(value, Mapping) else value
    if get_origin(kind) is tuple:
        return [stored(get_args(kind)[0], one) for one in value]
    if get_origin(kind) is dict:
        return {name: stored(get_args(kind)[1], one) for name, one in value.items()}
    if not is_dataclass(kind):
        return value
    fields_of = hints(kind)
    return {name: stored(hint, value[name]) for name, (_, hint) in fields_of.items() if name in value and stated(hint)}


def blocks(hint: Any) -> list[type]:
    """The dataclasses that an annotation mentions."""
    if is_dataclass(hint):
        return [hint]  # type: ignore[list-item] # a class, not one of its objects
    return [one for part in get_args(hint) if not isinstance(part, Rule | str) for one in blocks(part)]


def _fitting(options: Sequence[Any], value: Any) -> list[Any]:
    """The dataclasses whose choices are those of plain data, or all; first the one that states most nearly the same."""
    if not isinstance(value, Mapping):
        return list(options)

    def chosen(kind: Any) -> bool:
        return all(
            value.get(name, one.default) in get_args(hint)
            for name, (one, hint) in hints(kind).items()
            if get_origin(hint) is Literal and not isinstance(value.get(name), dict | list)
        )

    found = [one for one in options if chosen(one)] or list(options)

    def apart(kind: Any) -> int:
        return len({name for name, (_, hint) in hints(kind).items() if stated(hint)} ^ value.keys())

    return sorted(found, key=apart)


def faults(kind: Any, value: Any, place: str = "") -> Iterator[str]:
    """What is wrong with plain data that should be of a type, a line each: the place, then what is wrong."""
    origin = get_origin(kind)
    if origin is Annotated:
        if not stated(kind):
            yield f"at {place or '/'}: no record states it, because it follows from other values"
        elif found := list(faults(get_args(kind)[0], value, place)):
            yield from found
        else:
            yield from (f"at {place or '/'}: {told}" for rule in rules_of(kind) if (told := rule.fault(value)))
    elif origin in (Union, types.UnionType):
        yield from _union_faults(get_args(kind), value, place)
    elif origin is Literal:
        if not any(type(value) is type(one) and value == one for one in get_args(kind)):
            yield f"at {place or '/'}: {_short(value)} is unknown; allowed: {', '.join(map(str, get_args(kind)))}"
    elif origin is tuple:
        yield from _list_faults(get_args(kind)[0], value, place)
    elif origin is dict:
        key, item = get_args(kind)
        yield from _mapping_faults(key, item, value, place)
    elif is_dataclass(kind):
        assert isinstance(kind, type)
        yield from _block_faults(kind, value, place)
    elif kind is not Any and not _is(kind, value):
        yield f"at {place or '/'}: {_short(value)} is not of type {_NAMES.get(kind, 'null')}"


_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def _is(kind: Any, value: Any) -> bool:
    if kind is float:
        return type(value) in (int, float) and abs(value) <= sys.float_info.max
    return value is None if kind is type(None) else type(value) is kind


def _short(value: Any) -> str:
    return f"{value!r:.80}"


def _union_faults(options: tuple[Any, ...], value: Any, place: str) -> Iterator[str]:
    known = [one for one in options if is_dataclass(one)]
    if known and isinstance(value, Mapping):
        yield from faults(_fitting(known, value)[0], value, place)
        return
    told = [list(faults(option, value, place)) for option in options]
    if all(told):
        yield from told[0]


def _list_faults(item: Any, value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, list | tuple):
        yield f"at {place or '/'}: {_short(value)} is not of type array"
        return
    # Most of a record are samples, of which all but a forger's are as they should be.
    number = _number(item)
    for index, one in enumerate(value):
        if number is None or not (type(one) in number.types and number.least <= one <= number.most):
            yield from faults(item, one, f"{place}/{index}")


@dataclass(frozen=True)
class _Number:
    """What surely is a number of a type: those at its bounds are looked at more closely."""

    types: tuple[type, ...]
    least: float
    most: float


@cache
def _number(kind: Any) -> _Number | None:
    """The numbers that an annotation allows; None for one of something else."""
    if get_origin(kind) is not Annotated or not stated(kind) or (base := get_args(kind)[0]) not in (int, float):
        return None
    lows = [low for rule in rules_of(kind) for low in (rule.least, rule.above) if low is not None]
    highs = [rule.most for rule in rules_of(kind) if rule.most is not None]
    # Above 0 is above its least number.
    strict = any(rule.above is not None for rule in rules_of(kind))
    least = max(lows, default=-sys.float_info.max)
    types = (int,) if base is int else (int, float)
    return _Number(types, math.nextafter(least, math.inf) if strict else least, min([*highs, sys.float_info.max]))


def _mapping_faults(key: Any, item: Any, value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"at {place or '/'}: {_short(value)} is not of type object"
        return
    for name, one in value.items():
        yield from faults(key, name, f"{place}/{name:.80}")
        yield from faults(item, one, f"{place}/{name:.80}")


def _block_faults(kind: type, value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"at {place or '/'}: {_short(value)} is not of type object"
        return
    found = [*_field_faults(kind, value, place)]
    yield from found
    if not found and hasattr(kind, "__post_init__"):
        # What the fields allow together, the class itself knows.
        try:
            kind(**{name: tuple(one) if isinstance(one, list) else one for name, one in value.items()})
        except ValueError as error:
            yield f"at {place or '/'}: {error}"


def _field_faults(kind: type, value: Mapping[str, Any], place: str) -> Iterator[str]:
    known = hints(kind)
    for name in value:
        if name not in known:
            yield f"at {place or '/'}: there is no {name[:80]!a}"
    for name, (one, hint) in known.items():
        if name in value:
            yield from faults(hint, value[name], f"{place}/{name}")
        elif one.default is MISSING:
            yield f"at {place or '/'}: {name!r} is a required property"
