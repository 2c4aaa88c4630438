"""The conversation of a child process: a JSON document per line on standard input, a JSON answer per line on output.

The first line of output answers nothing: it says that the process has imported what it needs. Every answer comes with
what was imported since the last.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from explorable.shared.imports import IMPORTS

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
    if WHERE is not None:
        faulthandler.register(WHERE, file=2, all_threads=False)
    print("ready", file=responses)
    for line in requests:
        answer = respond(json.loads(line))
        print(json.dumps({"answer": answer, "imports": IMPORTS.news()}), file=responses)
