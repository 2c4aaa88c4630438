"""Bad input on the command line, said in one line, with the nearest name that exists."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.core.errors import EngineError

FLAGS = {"data": "--dp", "node": "--node-size", "pipeline": "--pp", "sequence": "--seq", "tensor": "--tp"}
"""What the engine's messages call an option, where it is not the option's own name."""

_GROUPS = re.compile(r"\b(data|pipeline|tensor)(?= (?:\d|of|above))")
_ARGUMENTS = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


class UsageError(Exception):
    """Bad input. The message is one line: the option, the value, what is allowed."""


def closest(name: str, known: Iterable[str]) -> str:
    """`", did you mean x?"` for the most similar known name, or nothing when none is similar."""
    from difflib import get_close_matches

    names = list(known)
    longer = [known for known in names if len(name) > 2 and known.startswith(name.lower())]
    found = longer[:1] or get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    return f", did you mean {found[0]}?" if found else ""


def from_engine(error: EngineError, options: Iterable[str]) -> UsageError:
    """The engine's message in the words of the command line: options instead of arguments."""
    flags = {flag.removeprefix("--").replace("-", "_"): flag for flag in options} | FLAGS
    first, space, rest = str(error).replace(" True ", " ", 1).partition(" ")
    rest = _GROUPS.sub(lambda found: flags[found[0]], rest)
    rest = _ARGUMENTS.sub(lambda found: flags.get(found[0], found[0]), rest)
    return UsageError(flags.get(first, first) + space + rest)
