"""Ways to falsify a record: every leaf, every name and every list of it, changed as a forger or a broken disk would."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

Place = tuple[str | int, ...]
Mutation = tuple[str, Place, str]
"""What was done, where, and the text of the falsified record."""


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every place in a document but the root."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*place, key)
        yield from places(item, (*place, key))


def at(document: Any, place: Place) -> Any:
    """The value at a place."""
    for key in place:
        document = document[key]
    return document


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value is replaced by."""
    if isinstance(value, bool):
        yield "flipped", not value
    elif isinstance(value, int | float):
        yield "doubled", value * 2 or 1
        yield "shrunk", value * 0.9 if isinstance(value, float) else value - 1
        yield "negative", -value or -1
        yield "not a number", float("nan")
        yield "infinite", float("inf")
        yield "huge", 10.0**300 if isinstance(value, float) else 10**30
        yield "text", str(value)
    elif isinstance(value, str):
        yield "longer", value + "x"
        yield "control character", value + "\x1b[31m"
        yield "half a character", value + "\ud800"
        yield "empty", ""
        yield "endless", value + "x" * 5000
        if value.startswith("20") and value.endswith("Z"):
            yield "year 2099", "2099" + value[4:]
            yield "no such day", value[:5] + "13-41" + value[10:]
    elif isinstance(value, list):
        yield "one less", value[:-1]
        yield "one twice", [*value, *value[-1:]]
        yield "empty", []
    if value is None:
        yield "a number", 1
        yield "words", "something"
    else:
        yield "null", None
    yield "nested", {"a": value}


def falsified_at(record: dict[str, Any], place: Place) -> Iterator[Mutation]:
    """All falsifications of a record at one place."""
    for name, other in _others(at(record, place)):
        yield _changed(record, name, place, other)
    if isinstance(place[-1], str):
        mutant = copy.deepcopy(record)
        parent = at(mutant, place[:-1])
        parent[f"{place[-1]}_"] = parent.pop(place[-1])
        yield "renamed", place, json.dumps(mutant)


def falsified(record: dict[str, Any]) -> Iterator[Mutation]:
    """All falsifications of a record, one at a time."""
    for place in places(record):
        yield from falsified_at(record, place)


def _changed(record: dict[str, Any], name: str, place: Place, other: Any) -> Mutation:
    mutant = copy.deepcopy(record)
    at(mutant, place[:-1])[place[-1]] = other
    return name, place, json.dumps(mutant)


def kind(place: Place) -> str:
    """A place without the numbers of lists: `samples.step_s.*.*`."""
    return ".".join("*" if isinstance(key, int) else key for key in place)
