"""Explains in one sentence what a page's Python cannot do, in place of the runtime's own error."""

from __future__ import annotations

import builtins
import contextlib
import io
import sys
from collections.abc import Iterator
from typing import Any, NoReturn


class _Limit:
    """Of exceptions whose message says all that a reader needs: no traceback is shown."""


class NoKeyboardError(_Limit, EOFError):
    """`input()` was called."""


class SecondLoopError(_Limit, RuntimeError):
    """`asyncio.run` was called where an event loop runs already."""


@contextlib.contextmanager
def plainly(source: str) -> Iterator[None]:
    """While a snippet runs: `input()` and `asyncio.run()` say what to write instead."""
    with contextlib.ExitStack() as undo:
        undo.callback(setattr, sys, "stdin", sys.stdin)
        undo.callback(setattr, builtins, "input", builtins.input)
        sys.stdin, builtins.input = io.StringIO(), _no_keyboard
        if "asyncio" in source:
            import asyncio

            undo.callback(setattr, asyncio, "run", asyncio.run)
            asyncio.run = _no_second_loop
        yield


def sentence(raised: BaseException) -> str:
    """What to say of an exception that a limit of the page has caused; "" for every other."""
    if isinstance(raised, _Limit):
        return str(raised)
    if not isinstance(raised, ModuleNotFoundError) or not raised.name:
        return ""
    missing = raised.name.partition(".")[0]
    if missing in sys.modules:
        return ""
    if "could not be downloaded" in str(raised):
        return f"{raised}."
    if missing in sys.stdlib_module_names:
        return f"{missing} needs an operating system, which the page's Python does not have."
    return (
        f"There is no module {missing} here: the page's Python has its own library, this book's library and a few "
        "packages. Install Python on your machine to use others."
    )


def _no_keyboard(prompt: object = "") -> NoReturn:
    raise NoKeyboardError('input() has no keyboard to read from here. Write the answer into the code: name = "…".')


def _no_second_loop(main: Any = None, **_: Any) -> NoReturn:
    close = getattr(main, "close", None)
    if callable(close):
        close()
    raise SecondLoopError(
        "asyncio.run() would start a second event loop, and here one runs already. Write: await main()."
    )
