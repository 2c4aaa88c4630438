"""The arguments of a setup, called words: which ones exist, and messages that name them as their caller wrote them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from engine.core.errors import EngineError, closest, one_of, show

Words = ParamSpec("Words")
Made = TypeVar("Made")

_WRITTEN = {"data": "dp", "tensor": "tp", "pipeline": "pp", "accelerator": "gpu", "chunks": "loss"}
"""The name that a part of a setup has for something, and the name that the caller has for it."""

LONGEST_NAME = 40
"""Characters beyond which no text is the name of anything here."""


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
            raise EngineError(as_written(str(error))) from None
        except TypeError:
            _require_known(make.__name__, positional, known, words, choices)
            raise

    return call


def as_written(message: str) -> str:
    """A message of a setup's parts in the words of its caller: `dp` for `data`, `gpu` for `accelerator`."""
    import re

    first, space, rest = message.partition(" ")
    rest = re.sub(r"\b(data|pipeline|tensor)(?= (?:\d|of|above|x interleave))", lambda found: _WRITTEN[found[0]], rest)
    return _WRITTEN.get(first, first) + space + rest


def require_text(what: str, value: object, names: tuple[str, ...], kind: type) -> None:
    """Raise `EngineError` unless `value` is a text that can be a name, or a `kind`."""
    if isinstance(value, str):
        if len(value) > LONGEST_NAME:
            raise one_of(what, value, names)
    elif not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise EngineError(
            f"{what} {show(value)} is not allowed; allowed: {', '.join(names)}, or {article} {kind.__name__}"
        )


def _require_known(
    question: str, positional: tuple[str, ...], known: tuple[str, ...], words: tuple[Any, ...], choices: dict[str, Any]
) -> None:
    for name in choices:
        if name not in known:
            meant = closest(name, known).replace(", did", "; did")
            raise EngineError(f"{question} has no word {show(name)}{meant or '; allowed: ' + ', '.join(known)}")
    if len(words) > len(positional):
        raise EngineError(
            f"{show(words[len(positional)])} has no name; allowed without one: {', '.join(positional)}, in this order"
        )
    for name in positional[: len(words)]:
        if name in choices:
            raise EngineError(f"{name} is given twice: {show(choices[name])} by name, and once without; give it once")
    if not words and positional[0] not in choices:
        raise EngineError(f"{positional[0]} is missing; allowed: a name or an object")
