"""Runs a program of Node.js that answers in lines, with a time limit for every answer.

What it runs may print, loop, exit or crash. So an answer is a line that begins with a mark, and all other lines are
left out. Its standard input stays open as long as it is wanted: at its end the program ends too, however we end.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from explorable.shared.running import Running

MARK = "explorable-answer:"
"""How a line begins that is an answer; the programs have it too."""


class NodeError(Exception):
    """There is no answer. The message is one line."""


class Node:
    """A program of Node.js, to be used in a `with`.

    Args:
        node: The file of Node.js.
        program: The program's file. It is given the name of a file with the job, as JSON.
        job: What it is to do.
    """

    def __init__(self, node: str, program: Path, job: Mapping[str, Any]) -> None:
        self._node, self._program, self._job = node, program, job
        self._held = contextlib.ExitStack()

    def __enter__(self) -> Node:
        folder = self._held.enter_context(tempfile.TemporaryDirectory())
        job = Path(folder, "job.json")
        job.write_text(json.dumps(self._job), encoding="utf-8")
        self._running = Running([self._node, str(self._program), str(job)], subprocess.DEVNULL, mark=MARK)
        return self

    def __exit__(self, *_: object) -> None:
        self._running.end()
        self._held.close()

    def answer(self, limit_s: float) -> Any:
        """The next answer, within so many seconds of a processor.

        Raises:
            NodeError: there is none, or the program says what is wrong.
        """
        try:
            line = self._running.answer(limit_s)
        except queue.Empty:
            raise NodeError(f"stopped after {limit_s:g} s") from None
        if line is None:
            raise NodeError(f"Node.js ended without an answer, with status {self._running.process.wait()}")
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            raise NodeError("its answer cannot be read") from None
        if "problem" in said:
            raise NodeError(" ".join(str(said["problem"]).split()))
        return said["answer"]
