"""Runs a Python module in a child process that answers JSON lines, with a time limit for every request.

Code of authors runs there and not in the build's own process: it can loop, exit or crash without taking the build
along, and it sees new sources without a restart of `mkdocs serve`.
"""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from explorable.book import current
from explorable.shared.installed import Imported
from explorable.shared.running import Running
from explorable.shared.serving import WHERE

_START_LIMIT_S = 120.0
"""The most seconds that a process may take to start. They do not count as time of its first request."""
_END = 2**16
"""Bytes at the end of a process's error output that are read."""
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)


class ChildError(Exception):
    """The child gave no answer. The message is one line.

    Attributes:
        frames: File and line of each call that the child was in, the innermost first; empty if unknown.
    """

    def __init__(self, message: str, frames: Sequence[tuple[str, int]] = ()) -> None:
        super().__init__(message)
        self.frames = tuple(frames)

    def line_in(self, file: str) -> int | None:
        """The innermost line of a file that the child was in."""
        return next((line for name, line in self.frames if name == file), None)


class TimeLimitError(ChildError):
    """The child did not answer within the time limit and was killed; what it had in memory is gone."""


class Child:
    """A child process, started at the first request and again after it had to be killed.

    Args:
        module: the module to run with `python -m`. It reads a JSON document per line and answers each with one.
        time_limit_s: the most seconds of a processor that a request may take, once the process is ready.
        bytecode: a folder for the byte code of what it imports, or None to write none. Beside the sources it would be
            a change in a folder that `mkdocs serve` watches.
        arguments: what the module gets on its command line.
    """

    def __init__(
        self, module: str, time_limit_s: float, bytecode: Path | None = None, arguments: Sequence[str] = ()
    ) -> None:
        self._command = [sys.executable, "-m", "explorable.shared.watched", module, *arguments]
        self._time_limit_s = time_limit_s
        self._bytecode = bytecode
        self._process: Running | None = None
        self._ready = False
        self._errors: IO[bytes] | None = None
        # The thread that asks and the one that ends the build may both find that the process has to go.
        self._closing = threading.Lock()
        self.imported = Imported()
        """What the process had imported when it gave its last answer: all that an answer may depend on."""
        self.losses = 0
        """How often the process has ended: a change means that what it had in memory is gone."""

    def start(self) -> None:
        """Start the process ahead of its first request, so that its imports run beside other work."""
        self._running()

    def request(self, message: Mapping[str, Any], *, limits: int = 1) -> Any:
        """Send a request and return the answer. One that does much may take several time `limits`.

        Raises:
            TimeLimitError: no answer within the time limit.
            ChildError: the process ended without an answer.
        """
        running = self._running()
        line = json.dumps(message)
        try:
            running.say(line)
            self._ready = self._ready or running.begins(_START_LIMIT_S)
            answer = running.answer(limits * self._time_limit_s) if self._ready else None
        except queue.Empty:
            took = limits * self._time_limit_s if self._ready else _START_LIMIT_S
            frames = self._frames(running.process)
            self.close()
            raise TimeLimitError(f"stopped after {took:g} s", frames) from None
        except (BrokenPipeError, ValueError):
            answer = None  # It has ended, or `close` of another thread has closed the stream.
        if answer is None:
            raise ChildError(self._last_words(running))
        try:
            told = json.loads(answer)
            self.imported |= told["imports"]
            return told["answer"]
        except (ValueError, TypeError, KeyError):
            self.close()
            raise ChildError("the Python process answered what nobody can read") from None

    def close(self) -> None:
        """End the process. A later request starts a new one; one that waits in another thread is told of the end."""
        with self._closing:
            running, self._process = self._process, None
            if running is None:
                return
            running.end()
            if self._errors is not None:
                self._errors.close()
            self.imported = Imported()
            self.losses += 1

    def _running(self) -> Running:
        if self._process is None:
            self._ready = False
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115
            self._process = Running(self._command, self._errors, {**os.environ, **self._environment()})
        return self._process

    def _environment(self) -> dict[str, str]:
        # A fixed hash seed gives sets one order, so that a page does not change from build to build.
        fixed = {"PYTHONUTF8": "1", "PYTHONHASHSEED": "0"}
        if library := current().library:
            # A library that is not installed is found where it lies.
            places = [str(library.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
            fixed["PYTHONPATH"] = os.pathsep.join(places)
        if self._bytecode is None:
            return {**fixed, "PYTHONDONTWRITEBYTECODE": "1"}
        return {**fixed, "PYTHONPYCACHEPREFIX": str(self._bytecode.resolve())}

    def _frames(self, process: subprocess.Popen[str]) -> list[tuple[str, int]]:
        """Files and lines that the process is in now. On the signal WHERE it writes them to its error output."""
        assert self._errors is not None
        if WHERE is None or process.poll() is not None:
            return []
        process.send_signal(WHERE)
        found: list[tuple[str, int]] = []
        for _ in range(20):
            time.sleep(0.05)
            found = [(match[1], int(match[2])) for match in _FRAME.finditer(_end(self._errors))]
            if found:
                break
        return found

    def _last_words(self, running: Running) -> str:
        status = running.process.wait()
        with self._closing:
            if self._process is not running or self._errors is None:
                return "the Python process was ended"
            lines = _end(self._errors).strip().splitlines()
        self.close()
        said = f": {lines[-1]}" if lines else ""
        return f"the Python process ended with status {status}{said}"


def _end(errors: IO[bytes]) -> str:
    """The last lines of an error output, which can be long."""
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - _END))
    return errors.read(_END).decode(errors="replace")
