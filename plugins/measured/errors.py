"""The one kind of error an author's mistake raises in this plugin: what is wrong, and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MeasuredError(ValueError):
    """An author's mistake. The message is one sentence that names the thing, the value and the fix."""


def suggestion(name: str, allowed: Iterable[str]) -> str:
    """`"did you mean 'GB'?"` when something allowed is close to `name`, else the list of what is allowed."""
    choices = sorted(set(allowed))
    folded = {choice.casefold(): choice for choice in reversed(choices)}
    if close := difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6):
        return f"did you mean '{folded[close[0]]}'?"
    if not choices:
        return "there is nothing to choose from"
    shown = ", ".join(choices[:12])
    return f"allowed: {shown}, …" if len(choices) > 12 else f"allowed: {shown}"
