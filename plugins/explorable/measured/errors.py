"""What an author's mistake raises in this part."""

from __future__ import annotations

from explorable.shared.errors import AuthorError


class MeasuredError(AuthorError):
    """A number, a table or a claim that cannot be shown."""


class HeldBackError(MeasuredError):
    """What only follows from a mistake reported elsewhere: the page shows it, and no warning is added."""


class NullError(MeasuredError):
    """A path leads through a group of the record that is null: it was not measured, or does not apply."""
