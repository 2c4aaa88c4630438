"""The one exception of the engine: bad input, said in one line."""

from __future__ import annotations

from collections.abc import Iterable


class EngineError(ValueError):
    """Bad input. The message is one line: what was asked, which value was given, what is allowed."""


def one_of(what: str, value: object, allowed: Iterable[str]) -> EngineError:
    """An error for a name that is not among `allowed`; `what` is the thing named, e.g. `"optimizer"`."""
    return EngineError(f"{what} {value!r} is unknown; allowed: {', '.join(allowed)}")


def require_positive(what: str, value: int) -> None:
    """Raise `EngineError` unless every `value` is a whole number of at least one (a scalar or a NumPy array)."""
    lowest = value.min() if hasattr(value, "min") else value
    whole = value.dtype.kind in "iu" if hasattr(value, "dtype") else isinstance(value, int)
    if not whole or isinstance(value, bool) or lowest < 1:
        raise EngineError(f"{what} {value!r} is not allowed; it must be a whole number of at least 1")


def require_at_least_zero(what: str, value: int) -> None:
    """Raise `EngineError` unless `value` is a whole number of at least zero."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise EngineError(f"{what} {value!r} is not allowed; it must be a whole number of at least 0")
