"""The one kind of error an author's mistake raises in this plugin: what is wrong, and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MeasuredError(ValueError):
    """An author's mistake: `what` names the thing and the value, `fix` says what is allowed or what to do."""

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(what, fix)
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}" if self.fix else self.what


class NullError(MeasuredError):
    """A path leads through a group of the record that is null: it was not measured, or does not apply."""


def suggestion(name: str, allowed: Iterable[str]) -> str:
    """`"perhaps 'GB' is meant"` when something allowed is close to `name`, else the list of what is allowed."""
    choices = sorted(set(allowed))
    folded = {choice.casefold(): choice for choice in reversed(choices)}
    if close := difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6):
        return f"perhaps '{folded[close[0]]}' is meant"
    if not choices:
        return "there is nothing to choose from"
    shown = ", ".join(choices[:12])
    return f"allowed: {shown}, …" if len(choices) > 12 else f"allowed: {shown}"
