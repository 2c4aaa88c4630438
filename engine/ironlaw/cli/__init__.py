"""The engine's command line: `python -m ironlaw estimate | fit | plan | compare | sweep | explain | audit | list`.

A command's file is imported only when it is asked for. Bad input is one line on the error stream and exit code 2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TextIO

from ironlaw.cli.terminal import UsageError, closest, in_options, quoted
from ironlaw.core.errors import EngineError

COMMANDS = {
    "estimate": "memory, time, money and energy of one configuration",
    "fit": "whether it fits, and the cheapest change that makes it fit",
    "compare": "several configurations side by side",
    "sweep": "a table over ranges of options",
    "plan": "the run that files describe: does it fit, how long, how much",
    "explain": "the sums behind an estimate, line by line, with sources",
    "audit": "a checkpoint's tensors against a model, by the headers of its files",
    "list": "models, gpus, optimizers, precisions and links by name",
}
SHARED = {"compare": "varied", "sweep": "varied", "explain": "estimate"}
"""Commands that share a file, by name."""
HELP = ("-h", "--help")
STOPPED = 130
"""The exit code of what is stopped from the keyboard, as shells count."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line. Its exit code: 0, 1 when nothing fits or `audit` finds a difference, 2 for bad input."""
    # Importing the command `list` binds its module to that name in this package, so the built-in is not used here.
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    try:
        if sys.stdout is None:  # closed before it began
            raise UsageError("the output cannot be written: it is closed")
        try:
            return _run(words)
        finally:  # also behind --help, which leaves by an exception
            sys.stdout.flush()
    except KeyboardInterrupt:
        return STOPPED
    except UsageError as error:
        return _refuse(str(error))
    except EngineError as error:
        from ironlaw.cli.options import OPTIONS

        return _refuse(error.worded(in_options(OPTIONS.values())))
    except BrokenPipeError:
        # The reader of the output has closed it, e.g. `| head`. Python would complain again when it flushes at exit.
        _discard(sys.stdout)
        return 0
    except (OSError, UnicodeEncodeError) as error:
        _discard(sys.stdout)
        return _refuse(f"the output cannot be written: {getattr(error, 'strerror', error)}")


def _refuse(why: str) -> int:
    """Say why, where that can be written."""
    try:
        print(f"error: {why}", file=sys.stderr)
    except OSError:
        _discard(sys.stderr)
    return 2


def _discard(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(words: list[str]) -> int:
    if not words or words[0] in HELP:
        print(_usage(), file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    command, *rest = words
    if command == "--version":
        from ironlaw import __version__

        print(__version__)
        return 0
    if command not in COMMANDS:
        what = "option" if command.startswith("-") else "command"
        raise UsageError(
            f"{what} {quoted(command)} is unknown{closest(command, COMMANDS)}; allowed: {', '.join(COMMANDS)}"
        )
    file, name = (SHARED[command], command) if command in SHARED else (command, "run")
    code: int = getattr(import_module(f"ironlaw.cli.{file}"), name)(rest)
    return code


def _usage() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {text}" for name, text in COMMANDS.items())
    start = "usage: python -m ironlaw COMMAND [OPTIONS]"
    return f"{start}\n\n{commands}\n\npython -m ironlaw COMMAND --help lists its options."
