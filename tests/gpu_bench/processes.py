"""For tests that kill processes: waiting, and finding the workers that a process has started."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    """Whether something becomes true within so many seconds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def files_below(folder: Path, suffix: str) -> list[Path]:
    """The files whose names end so, while another process makes and removes folders among them."""
    walked = [(Path(place), names) for place, _, names in os.walk(folder)]
    return sorted(place / name for place, names in walked for name in names if name.endswith(suffix))


def alive(pid: int) -> bool:
    """Whether the process runs; one that ended and waits to be collected does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return False


def descendants(pid: int, module: str) -> list[int]:
    """Processes below `pid`, at any depth, that run `python -m <module>`."""
    parents: dict[int, int] = {}
    running: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
            if (folder / "cmdline").read_bytes().split(b"\0")[1:3] == [b"-m", module.encode()]:
                running.append(int(folder.name))
        except (OSError, ValueError):
            continue
    return [one for one in running if pid in _ancestors(one, parents)]


def _ancestors(pid: int, parents: dict[int, int]) -> set[int]:
    found: set[int] = set()
    while pid in parents and pid not in found:
        found.add(pid)
        pid = parents[pid]
    return found
