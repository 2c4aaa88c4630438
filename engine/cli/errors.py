"""Bad input on the command line, said in one line, with the nearest name that exists."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.core.errors import EngineError
from engine.core.errors import closest as closest

FLAGS = {"data": "--dp", "node": "--node-size", "pipeline": "--pp", "sequence": "--seq", "tensor": "--tp"}
"""What the engine's messages call an option, where it is not the option's own name."""

_GROUPS = re.compile(r"\b(data|dp|pipeline|pp|tensor|tp)(?= (?:\d|of|above))")
_ARGUMENTS = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


class UsageError(Exception):
    """Bad input. The message is one line: the option, the value, what is allowed."""


def from_engine(error: EngineError, options: Iterable[str]) -> UsageError:
    """The engine's message in the words of the command line: options instead of arguments."""
    flags = {flag.removeprefix("--").replace("-", "_"): flag for flag in options} | FLAGS
    first, space, rest = str(error).replace(" True ", " ", 1).partition(" ")
    rest = _GROUPS.sub(lambda found: flags[found[0]], rest)
    rest = _ARGUMENTS.sub(lambda found: flags.get(found[0], found[0]), rest)
    return UsageError(flags.get(first, first) + space + rest)
