"""Who else uses the processors: other programs spoil CPU times, so their share is recorded, and can be waited out."""

from __future__ import annotations

import os
import time
from pathlib import Path

QUIET_SHARE = 0.05
"""Up to this share of all processors' time taken by others, a machine counts as quiet."""
_LOOK_S = 3.0
"""How long a look at the machine takes."""


def cpu_seconds() -> tuple[float, float] | None:
    """Processor time in seconds that the whole machine, and that this process, have used so far; None if not Linux.

    Processes that this one started, and theirs, count as its own while they run and when they have ended.
    """
    try:
        line = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
        user, nice, system, _idle, _iowait, irq, softirq, steal = (int(word) for word in line.split()[1:9])
        running = _ticks_of_descendants() / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None
    own = os.times()
    machine = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return machine, own.user + own.system + own.children_user + own.children_system + running


def _ticks_of_descendants() -> int:
    """Ticks of processor time of the processes that this one and those started and that are still there.

    One that is waited for between two looks goes over into its parent's time, and adds to it what it used meanwhile.
    """
    children: dict[int, list[tuple[int, int]]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            # A program's name, in parentheses, may hold blanks.
            words = file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            children.setdefault(int(words[1]), []).append((int(file.parent.name), sum(map(int, words[11:15]))))
        except (OSError, ValueError, IndexError):
            continue  # it has ended
    total, wanted = 0, [os.getpid()]
    while wanted:
        for process, ticks in children.get(wanted.pop(), ()):
            total += ticks
            wanted.append(process)
    return total


class OthersWatch:
    """Watches, from its creation on, which share of the machine other processes take."""

    def __init__(self) -> None:
        self._before = cpu_seconds()
        self._began = time.perf_counter()

    def share(self) -> float | None:
        """Share of all processors' time since the creation, 0 to 1; None when the system does not say."""
        after, elapsed, cores = cpu_seconds(), time.perf_counter() - self._began, os.cpu_count()
        if self._before is None or after is None or cores is None or elapsed <= 0:
            return None
        others = (after[0] - self._before[0]) - (after[1] - self._before[1])
        # The machine's counter ticks a hundred times a second, so a quiet machine can come out slightly below zero.
        return min(max(others / (elapsed * cores), 0.0), 1.0)


def await_quiet(patience_s: float) -> bool:
    """Wait at most `patience_s` seconds for a quiet machine; whether it is one, as one counts that does not say."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        watch = OthersWatch()
        time.sleep(min(_LOOK_S, max(deadline - time.monotonic(), 0.1)))
        share = watch.share()
        if share is None or share <= QUIET_SHARE:
            return True
    return False
