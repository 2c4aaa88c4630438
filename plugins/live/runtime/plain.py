"""Turns the contract's dataclasses into plain data that JSON can carry, and refuses what it cannot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass

Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]


def plain(value: object, where: str) -> Plain:
    """Convert dataclasses, mappings and sequences into dicts and lists.

    Args:
        value: what to convert.
        where: how to name the value in an error, e.g. `compute(…)`.

    Raises:
        ValueError: a number is not finite. JSON has no NaN, and a chart or a reader could do nothing with one.
        TypeError: a value is of a kind that JSON cannot carry.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}, which is not a finite number")
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), f"{where}.{field.name}") for field in fields(value)}
    if isinstance(value, Mapping):
        return {_key(key, where): plain(item, f"{where}[{key!r}]") for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    raise TypeError(
        f"{where} is a {type(value).__name__}; allowed are text, numbers, booleans, None, lists and mappings"
    )


def _key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{where} has the key {key!r}, which is not text")
    return key
