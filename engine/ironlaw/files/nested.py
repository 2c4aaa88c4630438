"""How deep lists and objects lie in one another: a reader of JSON goes as deep, which ends a browser's Python."""

from __future__ import annotations

import re

from ironlaw.core.errors import EngineError, Spelling

DEEPEST = 50
"""Lists and objects inside one another that are read; no file of a training has as many."""
MOST_BRACKETS = 200_000
"""Brackets of a text that are counted: a checkpoint's header of 1 MB has fewer."""
_BRACKET = re.compile(r'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+(?:"|\Z))*+([\[\]{}])', re.DOTALL)
"""Up to the next bracket that stands in no string."""
_NAMED = re.compile(r'\s*+["}]')
"""What follows where an object begins."""


class TooDeepError(EngineError):
    """A text with more lists and objects in one another, or in all, than are read."""

    def __init__(self) -> None:
        super().__init__("text", "too deep", f"at most {DEEPEST} lists and objects deep")

    def __reduce__(self) -> tuple[type[TooDeepError], tuple[()]]:
        return TooDeepError, ()

    def worded(self, spell: Spelling) -> str:
        """The sentence."""
        return (
            f"more than {DEEPEST} lists and objects lie in one another in this text, or more than {MOST_BRACKETS:,} "
            "brackets in all, which no file of a training needs"
        )


def is_too_deep(text: str) -> bool:
    """Whether the first list or object of a JSON holds more than `DEEPEST` in one another, or too many to count.

    Where its reader would stop for a fault, what follows may count, or not.
    """
    at = depth = count = 0
    # Not searched: a text whose quotation mark is missing goes on to the end.
    while found := _BRACKET.match(text, at):
        at, count = found.end(), count + 1
        depth += 1 if found[1] in "[{" else -1
        if depth > DEEPEST or count > MOST_BRACKETS:
            return True
        if depth <= 0 or (found[1] == "{" and not _NAMED.match(text, at)):
            return False
    return False
