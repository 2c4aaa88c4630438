"""The one exception of the engine: bad input, as data. And the checks of single values that raise it."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeVar

Entry = TypeVar("Entry")

LONGEST_VALUE = 60
"""Characters of a value that a message shows."""
LARGEST = 10**9
"""The largest count that a setup takes; no training has more of anything that a setup counts."""
LARGEST_ELEMENT = 2**40
"""The largest count that any formula takes: in arrays, formulas with larger ones could overflow silently."""


MISSING: Final = object()
"""The value of an argument that was not given."""


@dataclass(frozen=True, slots=True)
class Instead:
    """A way out through another argument: `Instead("dp", "of at least 2")` is allowed in place of the one at fault.

    Attributes:
        what: The other argument.
        allowed: What it must be, in words.
    """

    what: str
    allowed: str


class Spelling(Protocol):
    """How arguments are written where a message is read: `tp 3` in Python, `--tp 3` on the command line."""

    def __call__(self, what: str, value: object = MISSING, *, accepted: bool = False) -> str:
        """An argument, with its value where there is one; `accepted` tells one that stands beside the one at fault."""


class EngineError(ValueError):
    """Bad input, as data. It is worded where it is read; as text it is one line with Python's names.

    Attributes:
        what: The argument at fault.
        value: Its value, or `MISSING`.
        allowed: What is allowed: a tuple of values and of `Instead`s, or in words what the value must be.
        beside: The other arguments that exclude the value, each with its own.
        because: The reason, a clause such as `"which keeps no gradients"`; it names no argument.
    """

    def __init__(
        self,
        what: str,
        value: object,
        allowed: str | tuple[object, ...],
        beside: Mapping[str, object] = MappingProxyType({}),
        because: str = "",
    ) -> None:
        # All of it, so that the error can be copied and sent to another process.
        super().__init__(what, value, allowed, dict(beside), because)
        self.what = plain(what)  # which may be a key of somebody's file
        self.value, self.allowed, self.beside, self.because = value, allowed, dict(beside), because

    def __str__(self) -> str:
        return self.worded(in_python)

    def named(self, names: Mapping[str, str]) -> EngineError:
        """The same with other names of arguments; those that are not among `names` stay."""
        beside = {names.get(what, what): value for what, value in self.beside.items()}
        allowed = self.allowed
        if not isinstance(allowed, str):
            allowed = tuple(
                Instead(names.get(one.what, one.what), one.allowed) if isinstance(one, Instead) else one
                for one in allowed
            )
        return EngineError(names.get(self.what, self.what), self.value, allowed, beside, self.because)

    def worded(self, spell: Spelling) -> str:
        """The error in one line: what, which value, beside what, what is allowed."""
        beside = " and ".join(spell(what, value, accepted=True) for what, value in self.beside.items())
        excluded = (f" with {beside}" if beside else "") + (f", {self.because}" if self.because else "")
        if self.value is MISSING:
            verdict = "is missing"
        elif excluded or isinstance(self.allowed, str):
            verdict = "is not allowed"
        else:
            verdict = f"is unknown{self._meant()}"
        return f"{spell(self.what, self.value)} {verdict}{excluded}; {self._worded_allowed(spell)}"

    def _meant(self) -> str:
        """The nearest name; none of those with a space, which describe names, nor any where one describes this."""
        words = [name for name in self.allowed if isinstance(name, str)]
        described = {name.partition(":")[0] for name in words if " " in name}
        if not isinstance(self.value, str) or self.value.partition(":")[0] in described:
            return ""
        if self.what == "model_type":  # other letters are another architecture
            words = [name for name in words if sorted(name) == sorted(self.value.lower())]
        return closest(self.value, [name for name in words if " " not in name])

    def _worded_allowed(self, spell: Spelling) -> str:
        if isinstance(self.allowed, str):
            return f"it must be {self.allowed}"
        values = ", ".join(plain(str(one), 200) for one in self.allowed if not isinstance(one, Instead))
        others = (f"{spell(one.what)} {one.allowed}" for one in self.allowed if isinstance(one, Instead))
        return "allowed: " + ", or ".join(filter(None, (values, *others)))


def in_python(what: str, value: object = MISSING, *, accepted: bool = False) -> str:
    """An argument as Python's users write it, with its value where there is one."""
    if value is MISSING:
        return what
    return f"{what} {plain(value) if accepted and isinstance(value, str) else show(value)}"


def plain(text: str, longest: int = LONGEST_VALUE) -> str:
    """A text as it is, or as a value where it is long or a terminal would obey it."""
    return text if len(text) <= longest and text.isprintable() else show(text)


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


def entry(what: str, name: Any, table: Mapping[str, Entry]) -> Entry:
    """The entry called `name`. Raises `EngineError` where there is none; `what` is the thing named."""
    if name not in table:
        raise EngineError(what, name, tuple(table))
    return table[name]


def require_name(what: str, value: object, allowed: Iterable[str]) -> None:
    """Raise `EngineError` unless `value` is one of the names."""
    if not isinstance(value, str) or value not in allowed:
        raise EngineError(what, value, tuple(allowed))


def require_bool(what: str, value: object) -> None:
    """Raise `EngineError` unless `value` is True or False: a text such as `"no"` would count as true."""
    if value is not True and value is not False:
        raise EngineError(what, value, "True or False")


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
        raise EngineError(what, value, f"a whole number of at least {lowest}")
    if number > highest:
        raise EngineError(what, value, f"a whole number of at most {highest}")
    return number


def require_positive(what: str, value: Any) -> None:
    """Raise `EngineError` unless every `value` is a whole number of at least one (a scalar or a NumPy array)."""
    if type(value) is int and 0 < value <= LARGEST_ELEMENT:
        return
    if not getattr(value, "shape", ()):
        whole_number(what, value, highest=LARGEST_ELEMENT)
        return
    if 0 in value.shape:
        raise EngineError(what, value, "an array that is not empty")
    if value.dtype.kind not in "iu" or value.min() < 1:
        raise EngineError(what, value, "a whole number of at least 1")
    if value.max() > LARGEST_ELEMENT:
        raise EngineError(what, value, "a whole number of at most 2**40")


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
