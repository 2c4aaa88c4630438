"""Turns the contract's dataclasses into plain data that JSON can carry, and refuses what it cannot."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, cast

Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]


_UNCHANGED = frozenset({str, bool, int, type(None)})


def plain(value: object, where: str) -> Plain:
    """Convert dataclasses, mappings and sequences into dicts and lists.

    Args:
        value: what to convert.
        where: how to name the value in an error, e.g. `compute(…)`.

    Raises:
        ValueError: a number is not finite. JSON has no NaN, and a chart or a reader could do nothing with one.
        TypeError: a value is of a kind that JSON cannot carry.
    """
    try:
        return _fast(value)
    except _UnusualError:
        return _careful(value, where)


class _UnusualError(Exception):
    """Something that needs another look, and perhaps an error that names its place."""


def _fast(value: Any) -> Plain:
    """The everyday kinds. It runs for every frame of a drag, so it notes no places."""
    kind = type(value)
    if kind in _UNCHANGED:
        return cast(Plain, value)
    if kind is float:
        if math.isfinite(value):
            return cast(float, value)
        raise _UnusualError
    if kind is dict:
        if all(type(key) is str for key in value):
            return {key: _fast(item) for key, item in value.items()}
        raise _UnusualError
    if kind is tuple or kind is list:
        return [_fast(item) for item in value]
    if is_dataclass(value) and kind is not type:
        return {name: _fast(getattr(value, name)) for name in _names(cast(Hashable, kind))}
    raise _UnusualError


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _careful(value: object, where: str) -> Plain:
    """The same for every kind, with the place of what cannot be carried."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}, which is not a finite number")
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _careful(getattr(value, field.name), f"{where}.{field.name}") for field in fields(value)}
    if isinstance(value, Mapping):
        return {_key(key, where): _careful(item, f"{where}[{key!r}]") for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_careful(item, f"{where}[{index}]") for index, item in enumerate(value)]
    raise TypeError(
        f"{where} is a {type(value).__name__}; allowed are text, numbers, booleans, None, lists and mappings"
    )


def _key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{where} has the key {key!r}, which is not text")
    return key
