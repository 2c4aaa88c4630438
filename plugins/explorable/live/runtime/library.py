"""Fetches what a start leaves out, when a module of it is first imported.

A start in the page brings only what a start imports. Two archives hold more: the rest of Python's standard library, and
the modules that a book's library keeps for later. A finder puts each on the path once somebody asks for a module of it.
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

import explorable


class OnDemand(MetaPathFinder):
    """Finds a module in an archive that is not there yet.

    Args:
        has: whether the archive holds the module of a name.
        fetch: brings the archive and returns its path, or None when it cannot be had.
        start: the folder or archive that Python has started with; packages of it get their other half.
        what: what the archive is, for the message when it cannot be had.
    """

    def __init__(self, has: Callable[[str], bool], fetch: Callable[[], str | None], start: str, what: str) -> None:
        self._has, self._fetch, self._start, self._what = has, fetch, start, what

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's place in the archive; None for what it does not have.

        Raises:
            ModuleNotFoundError: the archive is needed and cannot be had.
        """
        if not self._has(fullname):
            return None
        archive = self._fetch()
        if archive is None:
            why = f"is in the part of {self._what} that is fetched on demand, which could not be downloaded"
            raise ModuleNotFoundError(f"{fullname} {why}", name=fullname)
        sys.meta_path.remove(self)
        sys.path.append(archive)
        for package in list(sys.modules.values()):
            _extend(package, self._start, archive)
        # `path` is its package's own list, which is longer now.
        return PathFinder.find_spec(fullname, path, target)


def fetch_on_demand(fetch: Callable[[], str | None]) -> None:
    """Let later imports fetch the rest of the library through `fetch` when no other finder has the module."""
    start = str(PurePosixPath(json.__file__).parent.parent)
    _last(OnDemand(lambda name: name.partition(".")[0] in sys.stdlib_module_names, fetch, start, "Python's library"))


def fetch_later(names: Sequence[str], fetch: Callable[[], str | None]) -> None:
    """Let later imports fetch the modules of these names, and what is below them, through `fetch`."""
    wanted = tuple(names)
    start = str(PurePosixPath(explorable.__file__).parent.parent)

    def has(module: str) -> bool:
        return any(module == name or module.startswith(f"{name}.") for name in wanted)

    _last(OnDemand(has, fetch, start, "the book's library"))


def _last(finder: OnDemand) -> None:
    sys.meta_path.insert(sys.meta_path.index(importlib.machinery.PathFinder) + 1, finder)


def _extend(package: ModuleType, start: str, rest: str) -> None:
    folders = getattr(package, "__path__", None)
    if not isinstance(folders, list):
        return
    folders.extend(f"{rest}{folder.removeprefix(start)}" for folder in folders[:] if folder.startswith(f"{start}/"))
