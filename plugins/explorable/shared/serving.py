"""The conversation of a child process: a JSON document per line on standard input, a JSON answer per line on output.

The first line of output answers nothing: it says that the process has imported what it needs. Every answer comes with
what was imported since the last.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from json import dumps, loads  # by their own names: an author's code may put others in their place
from typing import Any

from explorable.shared.imports import IMPORTS

MOST_WRITTEN = 2**28
"""Bytes that a child process may write into one file, of which its error output is one."""
ORPHANED_S = 5
"""Seconds of a processor after which a child process looks whether its build is still there."""
WHERE = getattr(signal, "SIGUSR1", None)
"""The signal at which a serving process writes down the line it is at; None on systems without such signals."""


def serve(respond: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer requests until standard input ends."""
    # The conversation moves to private descriptors, so that nothing an author's code prints or reads, not even through
    # a process of its own, can break into it.
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    responses = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")  # noqa: SIM115
    _bound()
    if WHERE is not None:
        faulthandler.register(WHERE, file=2, all_threads=False)
    if hasattr(os, "register_at_fork"):
        # A process that an author's code forks, and that outlives this one, would hold the conversation open.
        for stream in (requests, responses):
            os.register_at_fork(after_in_child=stream.close)
    print("ready", file=responses)
    for line in requests:
        answer = respond(loads(line))
        print(dumps({"answer": answer, "imports": IMPORTS.news()}), file=responses)


def allowed(limit: int, most: int) -> int:
    """`most` of what the system limits, or as much as it allows where that is less."""
    import resource

    highest = resource.getrlimit(limit)[1]
    return most if highest == resource.RLIM_INFINITY else min(most, highest)


def _bound() -> None:
    """Let no author's program fill the disk, or go on for ever behind a build that was killed.

    Where the system has such limits. A write beyond `MOST_WRITTEN` raises an `OSError`.
    """
    with suppress(ImportError, ValueError, OSError):
        import resource

        most = allowed(resource.RLIMIT_FSIZE, MOST_WRITTEN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    if hasattr(signal, "setitimer"):
        build = os.getppid()

        def look(*_: object) -> None:
            if os.getppid() != build:
                os._exit(1)

        # It counts seconds of this process alone: one that waits is not woken.
        signal.signal(signal.SIGVTALRM, look)
        signal.setitimer(signal.ITIMER_VIRTUAL, ORPHANED_S, ORPHANED_S)
