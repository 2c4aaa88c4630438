"""A program that runs beside us and answers in lines: how it is heard, how long an answer may take, and its end."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

PATIENCE = 6
"""How many times as long as its time limit a request may last on a busy machine."""


def processor_s(pid: int) -> float:
    """Seconds of a processor that a process has taken so far; 0 where the system does not tell."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")
    except (AttributeError, OSError, ValueError, IndexError):
        return 0.0


def _killed(process: subprocess.Popen[str]) -> None:
    """Kill a program and its group, which an interrupt at the keyboard does not reach."""
    if os.name != "posix":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


class Running:
    """A program that has been started.

    Args:
        command: the program and its arguments.
        errors: where its error output goes, as `subprocess.Popen` takes it.
        environment: its environment variables; None for ours.
        mark: how a line begins that is an answer. All others are left out.
    """

    def __init__(
        self,
        command: Sequence[str],
        errors: IO[bytes] | int,
        environment: Mapping[str, str] | None = None,
        mark: str = "",
    ) -> None:
        pipe = subprocess.PIPE
        # A group of its own, so that what it starts ends with it: a process that lives on would hold its pipes.
        group = 0 if os.name == "posix" else None
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=errors, encoding="utf-8", errors="replace", env=environment,
            process_group=group,
        )  # fmt: skip
        self._kill = weakref.finalize(self, _killed, self.process)
        self._answers: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._hear, args=(mark,), daemon=True).start()

    def say(self, line: str) -> None:
        """Send a line. Raises `BrokenPipeError` or `ValueError` when the program has ended."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def begins(self, limit_s: float) -> bool:
        """Wait so many seconds for a first line, of whatever content; False if the program ended before.

        Raises:
            queue.Empty: they are over.
        """
        return self._answers.get(timeout=limit_s) is not None

    def answer(self, limit_s: float) -> str | None:
        """The next answer, within so many seconds of a processor; None if the program ended before.

        It may last `PATIENCE` times that, because a busy machine gives it less than a whole processor.

        Raises:
            queue.Empty: they are over.
        """
        began, before = time.monotonic(), processor_s(self.process.pid)
        while True:
            waited = time.monotonic() - began
            spent = processor_s(self.process.pid) - before if before else waited
            left = min(limit_s - spent, PATIENCE * limit_s - waited)
            if left <= 0:
                raise queue.Empty
            with contextlib.suppress(queue.Empty):
                return self._answers.get(timeout=left)

    def end(self) -> None:
        """Kill the program and what it has started, and wait for it."""
        self._kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            # What the program never read may still be in the buffer.
            with contextlib.suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()

    def _hear(self, mark: str) -> None:
        """Pass answers on until the output ends, and then None."""
        assert self.process.stdout is not None
        # `end` may close the stream while we wait for a line.
        with contextlib.suppress(ValueError):
            for line in self.process.stdout:
                if line.startswith(mark):
                    self._answers.put(line.removeprefix(mark))
        self._answers.put(None)
