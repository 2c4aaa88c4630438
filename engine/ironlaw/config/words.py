"""The arguments of a setup, called words: which ones exist, and errors that name them as their caller wrote them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from ironlaw.core.errors import MISSING, EngineError

Words = ParamSpec("Words")
Made = TypeVar("Made")
Kind = TypeVar("Kind")

WRITTEN = {
    "data": "dp", "tensor": "tp", "pipeline": "pp", "context": "cp", "expert": "ep", "accelerator": "gpu",
    "chunks": "loss", "rank": "lora_rank",
}  # fmt: skip
"""The name that a part of a setup has for something, and the name that the caller has for it."""

LONGEST_NAME = 96
"""Characters beyond which no text is the name of anything here, or of a model on its hub with its owner's."""


def in_words(make: Callable[Words, Made]) -> Callable[Words, Made]:
    """A function of words whose errors name them as the caller wrote them, unknown words included."""
    code = make.__code__
    positional = code.co_varnames[: code.co_argcount]
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(make)
    def call(*words: Words.args, **choices: Words.kwargs) -> Made:
        try:
            return make(*words, **choices)
        except EngineError as error:
            raise error.named(WRITTEN) from None
        except TypeError:
            _require_known(positional, known, words, choices)
            raise

    return call


def part(what: str, value: object, kind: type[Kind], names: tuple[str, ...], by_name: Callable[[str], Kind]) -> Kind:
    """A part of a setup, given as such or by name. Raises `EngineError` for anything else."""
    if isinstance(value, kind):
        return value
    if not isinstance(value, str):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise EngineError(what, value, (*names, f"{article} {kind.__name__}"))
    if len(value) > LONGEST_NAME:
        raise EngineError(what, value, names)
    return by_name(value)


def _require_known(
    positional: tuple[str, ...], known: tuple[str, ...], words: tuple[Any, ...], choices: dict[str, Any]
) -> None:
    for name in choices:
        if name not in known:
            raise EngineError("word", name, known)
    if len(words) > len(positional):
        raise EngineError("word", words[len(positional)], f"given by name, after {', '.join(positional)}")
    for name in positional[: len(words)]:
        if name in choices:
            raise EngineError(name, choices[name], "given once", because="as it is given without a name too")
    if not words and positional[0] not in choices:
        raise EngineError(positional[0], MISSING, "a name or an object")
