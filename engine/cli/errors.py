"""Bad input on the command line, said in one line, with the nearest name that exists."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.core.errors import EngineError
from engine.core.errors import closest as closest

FLAGS = {"data": "--dp", "node": "--node-size", "pipeline": "--pp", "sequence": "--seq", "tensor": "--tp"}
"""What the engine's messages call an option, where it is not the option's own name."""

OTHER_WORDS = {
    "sequence": "--seq", "sequence-length": "--seq", "seq-len": "--seq",
    "batch-size": "--batch", "micro-batch": "--batch"
}  # fmt: skip
"""Options by the names that they have in other programs."""
LONGEST = 60
"""Characters of a typed text that a message repeats."""

_GROUPS = re.compile(r"\b(data|dp|pipeline|pp|tensor|tp)(?= (?:\d|of|above))")
_ARGUMENTS = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


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


def from_engine(error: EngineError, options: Iterable[str]) -> UsageError:
    """The engine's message in the words of the command line: options instead of arguments."""
    flags = {flag.removeprefix("--").replace("-", "_"): flag for flag in options} | FLAGS
    if str(error).startswith("zero ") and "runtime deepspeed" in str(error):
        return UsageError(f"--{error}; without --runtime it is PyTorch's FSDP")
    first, space, rest = str(error).replace(" True ", " ", 1).partition(" ")
    rest = _GROUPS.sub(lambda found: flags[found[0]], rest)
    rest = _ARGUMENTS.sub(lambda found: flags.get(found[0], found[0]), rest)
    return UsageError(flags.get(first, first) + space + rest)
