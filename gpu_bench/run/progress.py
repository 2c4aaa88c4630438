"""What the person at the terminal sees: one line per finished piece of work, and how long the rest will take."""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any


def duration(seconds: float) -> str:
    """A length of time as a person says it: `45 s`, `3 min`, `2 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


class Progress:
    """Lines on standard output; with tqdm installed and a terminal, a bar below them."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._bar: Any = None
        if sys.stderr.isatty() and total:
            with contextlib.suppress(ImportError):
                self._bar = importlib.import_module("tqdm").tqdm(total=total, unit="repeat", leave=False)

    def say(self, text: str) -> None:
        """Print a line."""
        if self._bar is not None:
            self._bar.write(text)
        else:
            print(text, flush=True)

    def add(self, count: int) -> None:
        """Take in more work than was known at the beginning."""
        self._total += count
        if self._bar is not None:
            self._bar.total = self._total

    def finish(self, text: str, remaining_s: float) -> None:
        """Print what was finished, and about how long the rest takes."""
        self._done += 1
        rest = f", about {duration(remaining_s)} left" if self._done < self._total else ""
        self.say(f"[{self._done}/{self._total}] {text}{rest}")
        if self._bar is not None:
            self._bar.update()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
