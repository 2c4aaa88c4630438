"""Options that an author writes, as a dataclass: known names, values of the kind of their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from explorable.shared.errors import UnbuildableError, nearest

T = TypeVar("T")


def read(kind: type[T], given: Mapping[str, Any]) -> T:
    """The options as a `kind`, a dataclass whose fields have defaults.

    Raises:
        UnbuildableError: a name is unknown, or a value is not allowed. The line says which, and what is.
    """
    made = kind()
    known = {field.name: getattr(made, field.name) for field in fields(kind)}  # type: ignore[arg-type]
    for name, value in given.items():
        if name not in known:
            raise UnbuildableError(f"there is no option '{name}'; {nearest(name, known)}")
        if not _like(value, known[name]):
            raise UnbuildableError(f"'{name}': {value!r} is not allowed; it must be like {known[name]!r}")
    return kind(**given)


def _like(value: object, default: object) -> bool:
    if isinstance(default, tuple):
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    return isinstance(value, int | float if isinstance(default, int | float) else type(default))
