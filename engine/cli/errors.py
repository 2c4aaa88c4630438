"""Bad input on the command line, said in one line, with the nearest name that exists."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.errors import EngineError

FLAGS = {
    "accelerator": "--gpu",
    "data": "--dp",
    "layers": "--layers",
    "node": "--node-size",
    "pipeline": "--pp",
    "sequence": "--seq",
    "tensor": "--tp",
}
"""What the engine's messages begin with, where it is not the option's own name."""

_UNKNOWN = re.compile(r"^(\S+) '(.*)' is unknown; allowed: (.*)$")


class UsageError(Exception):
    """Bad input. The message is one line: the option, the value, what is allowed."""


def closest(name: str, known: Iterable[str]) -> str:
    """`", did you mean x?"` for the most similar known name, or nothing when none is similar."""
    from difflib import get_close_matches

    found = get_close_matches(name.lower(), list(known), n=1, cutoff=0.5)
    return f", did you mean {found[0]}?" if found else ""


def from_engine(error: EngineError, options: Iterable[str]) -> UsageError:
    """The engine's message in the words of the command line: options instead of arguments."""
    message = str(error)
    flags = {flag.removeprefix("--").replace("-", "_"): flag for flag in options} | FLAGS
    if found := _UNKNOWN.match(message):
        what, value, allowed = found.groups()
        names = allowed.split(", ")
        message = f"{what} {value!r} is unknown{closest(value, names)}; allowed: {allowed}"
    first, _, rest = message.partition(" ")
    words = [flags.get(first, first), *(_option_name(word, flags) for word in rest.split(" "))]
    return UsageError(" ".join(words))


def _option_name(word: str, flags: dict[str, str]) -> str:
    """Names with an underscore can only be arguments; others are also English."""
    return flags.get(word, word) if "_" in word else word
