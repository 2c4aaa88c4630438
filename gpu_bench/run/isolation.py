"""Executors carry out repeats; the one of this machine starts a fresh process for each, and keeps its last words.

The runner decides what runs; an executor only decides where.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gpu_bench.machine import provenance
from gpu_bench.record import store
from gpu_bench.run.progress import duration


class RunError(Exception):
    """The run cannot start; the message is one line for the person who asked."""


@dataclass(frozen=True)
class Place:
    """A machine on which repeats run, each on a device of its own."""

    name: str  # Tells the places of one executor apart
    # What the machine is: `device`, `device_count`, `software`, `machine`, `code`
    context: Mapping[str, Any] = field(repr=False)
    slots: int = 1  # How many repeats it takes at a time


class Executor(Protocol):
    """Carries out repeats. Every repeat is a fresh process on whatever place it was given."""

    def places(self) -> Sequence[Place]:
        """The places that are alive now. Raises `RunError` when there is none to begin with."""

    def submit(self, ticket: int, place: Place, order: Mapping[str, Any], limit_s: float, devices: int) -> None:
        """Begin a repeat on so many of the place's slots; it is ended after `limit_s` seconds.

        For the order, which the worker reads, see `worker.py`.
        """

    def collect(self) -> Sequence[tuple[int, dict[str, Any]]]:
        """Wait a moment for repeats to end: tickets and reports of those that did, possibly none.

        A report with `lost` did not fail by itself: its process, or the machine under it, was taken away.
        """

    def close(self) -> None:
        """End whatever still runs."""


PROBE_LIMIT_S = 120.0
"""What finding out what a machine is may take: PyTorch is imported, possibly from a slow disk."""
WORKER = "gpu_bench.run.worker"
"""The module that a fresh process runs."""
_TAIL_LINES = 6
"""How much of a dead worker's last words goes into the record."""


def probe(device: str) -> dict[str, Any]:
    """What the machine is, found by a short-lived process. Raises `RunError` when the device is not there."""
    report = work({"task": "probe", "device": device}, PROBE_LIMIT_S)
    if "unavailable" in report:
        raise RunError(report["unavailable"])
    if "device" not in report:
        raise RunError(f"the machine could not be examined: {report['message']}")
    return report


def work(
    order: Mapping[str, Any], limit_s: float, on_start: Callable[[int], None] = lambda pid: None
) -> dict[str, Any]:
    """Start a worker, give it the order, wait at most `limit_s` seconds, return its report or the failure.

    A worker that was killed from outside yields a report with `lost`; one that failed by itself, without.
    """
    with tempfile.TemporaryDirectory(prefix="gpu_bench-") as name:
        folder = Path(name)
        report_path = folder / "report.json"
        path = os.pathsep.join([str(provenance.ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, **order.get("environment", {}), "PYTHONPATH": path}
        with (folder / "stderr").open("w+b") as stderr:
            worker = subprocess.Popen(
                [sys.executable, "-m", WORKER],
                stdin=subprocess.PIPE,
                stdout=stderr,
                stderr=stderr,
                env=environment,
                start_new_session=True,
            )
            assert worker.stdin is not None
            try:
                on_start(worker.pid)
                # A broken pipe means that it died at once; its exit status says how.
                with contextlib.suppress(BrokenPipeError):
                    worker.stdin.write(json.dumps({**order, "report": str(report_path)}).encode() + b"\n")
                    worker.stdin.flush()
                code = worker.wait(limit_s)
            except subprocess.TimeoutExpired:
                return {"status": "timeout", "message": f"no result within the limit of {duration(limit_s)}; ended"}
            finally:
                _end(worker)
            report = store.read_json(report_path)
            if code == 0 and report is not None:
                return report
            stderr.seek(0)
            message = _last_words(code, stderr.read().decode("utf-8", "replace"))
            return {"status": "error", "message": message, "lost": code < 0}


def _end(worker: subprocess.Popen[bytes]) -> None:
    """End the worker and whatever it started, and collect it."""
    if worker.stdin is not None and not worker.stdin.closed:
        with contextlib.suppress(BrokenPipeError):
            worker.stdin.close()
    if worker.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(worker.pid, signal.SIGKILL)
        else:
            worker.kill()
    worker.wait()


def _last_words(code: int, stderr: str) -> str:
    """How a worker ended, and the end of what it printed, without absolute paths."""
    if code < 0:
        ended = f"the worker was killed by {signal.Signals(-code).name}"
        if -code == signal.SIGKILL:
            ended += "; the system's out-of-memory killer ends processes this way"
    else:
        ended = f"the worker exited with status {code} and left no report"
    lines = [line for line in stderr.splitlines() if line.strip()][-_TAIL_LINES:]
    return provenance.redact("\n".join([ended, *lines]))


def compiler_caches(folder: Path) -> dict[str, str]:
    """Environment by which PyTorch's compiler and Triton keep what they make in a folder, and look for it there first.

    They find it by the code, the versions and the device that it is for: what another machine made does no harm, and
    a fresh machine of the same kind compiles nothing again.
    """
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(folder.absolute() / "inductor"),
        "TRITON_CACHE_DIR": str(folder.absolute() / "triton"),
    }


class LocalExecutor:
    """Runs one repeat at a time in a fresh process here; `on_start` is told the ticket and the process id."""

    def __init__(self, device: str, on_start: Callable[[int, int], None], compiled: Path) -> None:
        self._added = compiler_caches(compiled)
        self._place = Place("this machine", probe(device))
        self._on_start = on_start
        self._next: tuple[int, Mapping[str, Any], float] | None = None

    def places(self) -> Sequence[Place]:
        """This machine."""
        return (self._place,)

    def submit(self, ticket: int, place: Place, order: Mapping[str, Any], limit_s: float, devices: int) -> None:
        """Note what to do; `collect` does it. Alone on the machine, a repeat has all of its devices."""
        self._next = (ticket, {**order, "environment": self._added}, limit_s)

    def collect(self) -> Sequence[tuple[int, dict[str, Any]]]:
        """Do it, and wait until it is done."""
        if self._next is None:
            return ()
        (ticket, order, limit_s), self._next = self._next, None
        return ((ticket, work(order, limit_s, lambda pid: self._on_start(ticket, pid))),)

    def close(self) -> None:
        """Nothing runs between two calls of `collect`, and an interrupted one ends its worker itself."""
