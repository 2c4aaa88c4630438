"""Values of declared types, made of what JSON or YAML says: whatever else a file holds is one line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from explorable.shared.errors import nearest

_SHAPES: Mapping[type, str] = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null", dict: "a mapping",
    list: "a list",
}  # fmt: skip
"""What a file may say, in words."""
_MADE_OF = {Literal: str, Mapping: dict, Sequence: list, tuple: list}
_LONGEST = 60
"""Characters of a value that a message quotes."""


def read(kind: Any, text: str, *, more: bool = False) -> Any:
    """The value that a JSON text says, of a declared type: a dataclass, a sequence, a mapping, a text, a number.

    Args:
        kind: the type.
        text: the JSON.
        more: whether members may stand there that the type does not have; they are left out.

    Raises:
        ValueError: it says something else. The message is one line.
    """
    try:
        return made(kind, json.loads(text), more=more)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def made(kind: Any, told: object, place: str = "", *, more: bool = False) -> Any:
    """The same for a value that JSON or YAML gave; `place` is where it stands, as `pages.index.html`."""
    if kind is Any:
        return told
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    one = next((one for one in kinds if _fits(told, _shape(one))), None)
    if one is None:
        raise ValueError(f"{_said(told, place)}; it must be {' or '.join(_SHAPES[_shape(one)] for one in kinds)}")
    origin, inner = get_origin(one), get_args(one)
    if origin is Literal and told not in inner:
        raise ValueError(f"{_said(told, place)}; {nearest(str(told), inner)}")
    if isinstance(told, dict):
        if odd := [name for name in told if not isinstance(name, str)]:
            raise ValueError(f"{place or 'it'} has the name {odd[0]!r}; it must be a text")
        if is_dataclass(one):
            return _fields(one, told, place, more=more)
        return {name: made(inner[1], value, _below(place, name), more=more) for name, value in told.items()}
    if isinstance(told, list):
        entries = ((f"{place or 'it'} (entry {number})", value) for number, value in enumerate(told, 1))
        found = [made(inner[0], value, where, more=more) for where, value in entries]
        return tuple(found) if origin is tuple else found
    if isinstance(told, str) and "\0" in told:
        raise ValueError(f"{_said(told, place)}; it must be without the character NUL")
    return told


def _shape(kind: Any) -> type:
    """What a file says for a value of a type."""
    return dict if is_dataclass(kind) else _MADE_OF.get(get_origin(kind), get_origin(kind) or kind)


def _fits(told: object, shape: type) -> bool:
    return isinstance(told, (int, float) if shape is float else shape) and (shape is bool or not isinstance(told, bool))


def _fields(kind: Any, told: Mapping[str, object], place: str, *, more: bool) -> Any:
    hints = get_type_hints(kind)
    needed = {one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING}
    if not more and (unknown := sorted(told.keys() - hints.keys())):
        raise ValueError(f"{_below(place, unknown[0])} is unknown; {nearest(unknown[0], hints)}")
    if lacking := sorted(needed - told.keys()):
        raise ValueError(f"{place or 'it'} lacks {lacking[0]!r}")
    given = {
        name: made(hints[name], one, _below(place, name), more=more) for name, one in told.items() if name in hints
    }
    return kind(**given)


def _said(told: object, place: str) -> str:
    text = json.dumps(told, ensure_ascii=False, default=str, skipkeys=True)
    return f"{place or 'it'} is {text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'}"


def _below(place: str, name: str) -> str:
    return f"{place}.{name[:_LONGEST]}" if place else name[:_LONGEST]
