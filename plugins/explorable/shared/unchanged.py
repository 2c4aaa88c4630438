"""What was made of a file, kept while the file stays as it is: a server reads most files once."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

Made = TypeVar("Made")

SETTLED_NS = 2 * 10**9
"""A file that was written within so many nanoseconds may be written again and show the same time."""


class Unchanged(Generic[Made]):
    """Calls `make` with a file, and once more only when the file's times, its size or its inode are others.

    Args:
        make: reads the file. What it returns is shared, so nobody may change it. What it raises is not kept.
    """

    def __init__(self, make: Callable[[Path], Made]) -> None:
        self._make = make
        self._kept: dict[Path, tuple[tuple[int, ...], Made]] = {}

    def __call__(self, path: Path) -> Made:
        """What `make` returns. Raises `OSError` for a file that is not there."""
        found = path.stat()
        stamp = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        kept = self._kept.get(path)
        if kept and kept[0] == stamp:
            return kept[1]
        made = self._make(path)
        if time.time_ns() - max(stamp[:2]) > SETTLED_NS:
            self._kept[path] = stamp, made
        return made
