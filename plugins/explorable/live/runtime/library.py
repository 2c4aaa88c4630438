"""Fetches the rest of Python's standard library when a module of it is first imported.

A start in the page brings only the modules that a start imports. Everything else lies in a second archive, which this
finder puts on the path once somebody asks for a module that the first does not hold.
"""

from __future__ import annotations

import importlib.machinery
import json
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import PurePosixPath
from types import ModuleType


class RestOfLibrary(MetaPathFinder):
    """Finds a module of the standard library in the archive that is not there yet.

    Args:
        fetch: brings the archive and returns its path, or None when it cannot be had.
        start: the path of the archive that Python has started with; packages of it get their other half.
    """

    def __init__(self, fetch: Callable[[], str | None], start: str) -> None:
        self._fetch = fetch
        self._start = start

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's place in the rest of the library; None for what the library does not have.

        Raises:
            ModuleNotFoundError: the rest is needed and cannot be had.
        """
        if fullname.partition(".")[0] not in sys.stdlib_module_names:
            return None
        rest = self._fetch()
        if rest is None:
            why = "is in the part of Python's library that is fetched on demand, which could not be downloaded"
            raise ModuleNotFoundError(f"{fullname} {why}", name=fullname)
        sys.meta_path.remove(self)
        sys.path.append(rest)
        for package in list(sys.modules.values()):
            _extend(package, self._start, rest)
        # `path` is its package's own list, which is longer now.
        return PathFinder.find_spec(fullname, path, target)


def fetch_on_demand(fetch: Callable[[], str | None]) -> None:
    """Let later imports fetch the rest of the library through `fetch` when no other finder has the module."""
    start = str(PurePosixPath(json.__file__).parent.parent)
    after = sys.meta_path.index(importlib.machinery.PathFinder) + 1
    sys.meta_path.insert(after, RestOfLibrary(fetch, start))


def _extend(package: ModuleType, start: str, rest: str) -> None:
    folders = getattr(package, "__path__", None)
    if not isinstance(folders, list):
        return
    folders.extend(f"{rest}{folder.removeprefix(start)}" for folder in folders[:] if folder.startswith(f"{start}/"))
