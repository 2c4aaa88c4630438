"""Bad input on the command line, said in one line, with the nearest name that exists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ironlaw.core.errors import MISSING, Spelling, in_python
from ironlaw.core.errors import closest as closest

if TYPE_CHECKING:
    from ironlaw.cli.options import Option

UNNAMED = "this model"
"""The name of a model that is given by its shape, of which no option is the name."""

OTHER_WORDS = {
    "sequence": "--seq", "sequence-length": "--seq", "seq-len": "--seq",
    "batch-size": "--batch", "micro-batch": "--batch"
}  # fmt: skip
"""Options by the names that they have in other programs."""
LONGEST = 60
"""Characters of a typed text that a message repeats."""


class UsageError(Exception):
    """Bad input. The message is one line: the option, the value, what is allowed."""


def quoted(text: str) -> str:
    """What somebody typed, in quotes, and cut where it is long."""
    return repr(text if len(text) <= LONGEST else text[:LONGEST] + "...")


def closest_flag(word: str, known: Iterable[str]) -> str:
    """`", did you mean --x?"` for the option most similar to `word`, dashes ignored; or nothing."""
    bare = word.lstrip("-")
    flags = {flag.lstrip("-"): flag for flag in known}
    if (meant := OTHER_WORDS.get(bare)) in flags.values():
        return f", did you mean {meant}?"
    found = f", did you mean {bare}?" if bare in flags else closest(bare, flags)
    return found.replace("did you mean ", "did you mean --") if found else ""


def in_options(options: Iterable[Option]) -> Spelling:
    """How the command line writes arguments: the option instead, and a switch without a value."""
    flags = {(option.argument, option.constant if option.kind is None else MISSING): option.flag for option in options}

    def spell(what: str, value: object = MISSING, *, accepted: bool = False) -> str:
        if isinstance(value, bool) and (switch := flags.get((what, value))):
            return switch
        if what == "model" and value == UNNAMED:
            return UNNAMED
        return in_python(flags.get((what, MISSING), what), value, accepted=accepted)

    return spell
