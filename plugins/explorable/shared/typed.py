"""Values of declared types, made of what JSON says: whatever else a file holds is one line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from explorable.shared.errors import nearest

_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null"}
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
    """The same for a value that JSON gave; `place` is where it stands, as `pages.index.html`."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return told
    if origin in (Union, UnionType):
        allowed = [one for one in inner if one is not NoneType]
        return None if told is None and NoneType in inner else made(allowed[0], told, place, more=more)
    if is_dataclass(kind):
        return _fields(kind, _mapping(told, place), place, more=more)
    if origin is Mapping:
        found = _mapping(told, place)
        return {name: made(inner[1], one, _below(place, name), more=more) for name, one in found.items()}
    if origin is Sequence:
        if not isinstance(told, list):
            raise ValueError(f"{_said(told, place)}; it must be a list")
        return [made(inner[0], one, _below(place, str(index)), more=more) for index, one in enumerate(told)]
    if not isinstance(told, kind) or (isinstance(told, bool) and kind is not bool):
        raise ValueError(f"{_said(told, place)}; it must be {_WORDS[kind]}")
    if isinstance(told, str) and "\0" in told:
        raise ValueError(f"{_said(told, place)}; it must be without the character NUL")
    return told


def _fields(kind: Any, told: Mapping[str, object], place: str, *, more: bool) -> Any:
    hints = get_type_hints(kind)
    needed = {one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING}
    if lacking := sorted(needed - told.keys()):
        raise ValueError(f"{place or 'it'} lacks {lacking[0]!r}")
    if not more and (unknown := sorted(told.keys() - hints.keys())):
        raise ValueError(f"{_below(place, unknown[0][:_LONGEST])} is unknown; {nearest(unknown[0], hints)}")
    given = {
        name: made(hints[name], one, _below(place, name), more=more) for name, one in told.items() if name in hints
    }
    return kind(**given)


def _mapping(told: object, place: str) -> Mapping[str, object]:
    if not isinstance(told, dict):
        raise ValueError(f"{_said(told, place)}; it must be a mapping")
    return told


def _said(told: object, place: str) -> str:
    text = json.dumps(told, ensure_ascii=False)
    return f"{place or 'it'} is {text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'}"


def _below(place: str, name: str) -> str:
    return f"{place}.{name[:_LONGEST]}" if place else name[:_LONGEST]
