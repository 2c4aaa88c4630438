"""The one exception of the engine: bad input, said in one line. And the checks of single values that raise it."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

Entry = TypeVar("Entry")

LONGEST_VALUE = 60
"""Characters of a value that a message shows."""
LARGEST = 10**9
"""The largest count that a setup takes; no training has more of anything that a setup counts."""
LARGEST_ELEMENT = 2**40
"""The largest count that any formula takes: in arrays, formulas with larger ones could overflow silently."""


class EngineError(ValueError):
    """Bad input. The message is one line: what was asked, which value was given, what is allowed."""


def show(value: object) -> str:
    """A value as messages show it: in one line, cut when it is long."""
    try:
        text = " ".join(repr(value).split(None))
    except Exception:  # a number of thousands of digits, or an object that cannot say what it is
        text = f"of type {type(value).__name__}"
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 3] + "..."


def closest(name: str, known: Iterable[str]) -> str:
    """`", did you mean x?"` for the most similar known name, or nothing when none is similar."""
    from difflib import get_close_matches

    if not name:
        return ""
    names, asked = list(known), name[:LONGEST_VALUE].lower()
    longer = [known for known in names if len(asked) > 2 and known.startswith(asked)]
    found = longer[:1] or get_close_matches(asked, names, n=1, cutoff=0.5)
    return f", did you mean {found[0]}?" if found else ""


def one_of(what: str, value: object, allowed: Iterable[str]) -> EngineError:
    """An error for a name that is not among `allowed`; `what` is the thing named, e.g. `"optimizer"`."""
    names = tuple(allowed)
    meant = closest(value, names) if isinstance(value, str) else ""
    return EngineError(f"{what} {show(value)} is unknown{meant}; allowed: {', '.join(names)}")


def entry(what: str, name: Any, table: Mapping[str, Entry]) -> Entry:
    """The entry called `name`. Raises `EngineError` where there is none; `what` is the thing named."""
    if name not in table:
        raise one_of(what, name, table)
    return table[name]


def require_name(what: str, value: object, allowed: Iterable[str]) -> None:
    """Raise `EngineError` unless `value` is one of the names."""
    if not isinstance(value, str) or value not in allowed:
        raise one_of(what, value, allowed)


def require_bool(what: str, value: object) -> None:
    """Raise `EngineError` unless `value` is True or False: a text such as `"no"` would count as true."""
    if value is not True and value is not False:
        raise EngineError(f"{what} {show(value)} is not allowed; it must be True or False")


def whole_number(what: str, value: Any, lowest: int = 1, highest: int = LARGEST) -> int:
    """A whole number as Python's own, whatever kind it came as (NumPy's, for one).

    Raises:
        EngineError: It is none, or out of range.
    """
    if type(value) is int and lowest <= value <= highest:
        return value
    number = None
    if not isinstance(value, bool):
        try:
            number = operator.index(value)
        except (TypeError, ValueError):
            number = None
    if number is None or number < lowest:
        raise EngineError(f"{what} {show(value)} is not allowed; it must be a whole number of at least {lowest}")
    if number > highest:
        raise EngineError(f"{what} {show(value)} is not allowed; it must be a whole number of at most {highest}")
    return number


def require_positive(what: str, value: Any) -> None:
    """Raise `EngineError` unless every `value` is a whole number of at least one (a scalar or a NumPy array)."""
    if type(value) is int and 0 < value <= LARGEST_ELEMENT:
        return
    if not getattr(value, "shape", ()):
        whole_number(what, value, highest=LARGEST_ELEMENT)
        return
    if 0 in value.shape:
        raise EngineError(f"{what} {show(value)} is not allowed; an array must not be empty")
    if value.dtype.kind not in "iu" or value.min() < 1:
        raise EngineError(f"{what} {show(value)} is not allowed; it must be a whole number of at least 1")
    if value.max() > LARGEST_ELEMENT:
        raise EngineError(f"{what} {show(value)} is not allowed; it must be a whole number of at most 2**40")


def settle_fields(
    record: object, counts: Mapping[str, int], names: Mapping[str, tuple[str, ...]], switches: Iterable[str]
) -> None:
    """Make a new frozen dataclass's counts Python's own whole numbers, and check its other fields.

    Args:
        record: The dataclass.
        counts: Fields that are whole numbers, and the lowest that each may be.
        names: Fields that are names, and what each may be.
        switches: Fields that are True or False.

    Raises:
        EngineError: A field has another value.
    """
    for field, lowest in counts.items():
        object.__setattr__(record, field, whole_number(field, getattr(record, field), lowest))
    for field, allowed in names.items():
        require_name(field, getattr(record, field), allowed)
    for field in switches:
        require_bool(field, getattr(record, field))
