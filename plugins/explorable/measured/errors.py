"""The one kind of error an author's mistake raises in this plugin: what is wrong, and what is allowed."""

from __future__ import annotations


class MeasuredError(ValueError):
    """An author's mistake: `what` names the thing and the value, `fix` says what is allowed or what to do."""

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(what, fix)
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}" if self.fix else self.what


class HeldBackError(MeasuredError):
    """What only follows from a mistake reported elsewhere: the page shows it, and no warning is added."""


class NullError(MeasuredError):
    """A path leads through a group of the record that is null: it was not measured, or does not apply."""
