"""Run the Python tests, a process for each part of them: `make test-python`.

python -m tools.python_tests

A process imports what the tests of its part need, and looks for no others: finding all of them takes a process half a
minute. The parts that take longest begin first. What a part prints comes when it ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
AT_ONCE = 3
"""Processes. Tests wait for the processes that they start, so two cores have work for three."""
PARTS = (
    ("tests/explorable",),
    ("tests/docs",),
    ("tests/gpu_bench",),
    ("tests/engine",),
    ("tests/gpu_bench/measure",),
    ("tests/engine/memory", "tests/engine/models"),
    ("tests/tools", "tests/book"),
    ("tests/engine/graph",),
)
"""Paths of tests that one process runs, the longest part first. A file belongs to the longest path that holds it."""
NOTHING_RAN = 5
"""The exit code of pytest where it finds no test."""


@dataclass(frozen=True)
class Ran:
    """How a part ended: pytest's exit code, what it printed, seconds, and seconds of a processor."""

    code: int
    printed: str
    seconds: float
    processor_s: float


def divided(files: Iterable[str], parts: Sequence[Sequence[str]] = PARTS) -> list[list[str]]:
    """The files of each part; those of no part come last, in one more."""
    divided: list[list[str]] = [[] for _ in range(len(parts) + 1)]
    places = sorted(((path, at) for at, part in enumerate(parts) for path in part), key=lambda one: -len(one[0]))
    for file in files:
        divided[next((at for path, at in places if file.startswith(f"{path}/")), len(parts))].append(file)
    return [part for part in divided if part]


def found(root: Path = ROOT) -> list[str]:
    """All files of tests, as paths from the root."""
    return sorted(file.relative_to(root).as_posix() for file in (root / "tests").rglob("test_*.py"))


def run(files: Sequence[str], root: Path = ROOT) -> Ran:
    """Run the tests of some files."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        command = [sys.executable, "-m", "pytest", *files]
        process = subprocess.Popen(command, cwd=root, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read()
    return Ran(process.returncode, said, time.monotonic() - began, used.ru_utime + used.ru_stime)


def main(root: Path = ROOT) -> int:
    """Run all of them; 0 where all have passed, else 1."""
    parts = divided(found(root))
    failed = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = {pool.submit(run, files, root): files for files in parts}
        for done in running:
            ran, files = done.result(), running[done]
            failed += ran.code not in (0, NOTHING_RAN)
            folder = os.path.commonpath([Path(file).parent for file in files])
            print(f"{ran.printed.rstrip()}\n==> {len(files)} files in {folder}: {ran.seconds:.0f} s, "
                  f"{ran.processor_s:.0f} s of a processor", flush=True)  # fmt: skip
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
