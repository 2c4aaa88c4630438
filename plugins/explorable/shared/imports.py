"""What a process imports, and what it looks for and does not find: its results depend on that besides their sources."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType
from typing import Any

EVERY = "*"
"""Stands for all distributions, where a process asked which there are."""
_LIBRARY = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
_INSTALLED = {"site-packages", "dist-packages"}
"""Folders of installed libraries, which may lie in that of the standard library."""


class Imports(DistributionFinder):
    """Hears of every import and of every question for a distribution, since it is asked first and finds nothing."""

    def __init__(self) -> None:
        self._looked_for: dict[str, list[str] | None] = {}
        self._asked: set[str] = set()
        self._told: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Note a module that is looked for."""
        self._looked_for[fullname] = None if path is None else list(map(str, path))
        return None

    def find_distributions(
        self,
        context: DistributionFinder.Context = DistributionFinder.Context(),  # noqa: B008 - as the library has it
    ) -> Iterable[Distribution]:
        """Note a distribution that is asked for."""
        self._asked.add(context.name or EVERY)
        return ()

    def news(self) -> dict[str, Any]:
        """What was not told before: `files` of modules, modules that are `absent` and where, distributions `asked` for.

        Modules of the standard library are left out: they belong to the version of Python.
        """
        looked_for, self._looked_for = self._looked_for, {}
        asked, self._asked = sorted(self._asked), set()
        names = (sys.modules.keys() - self._told) | (sys.modules.keys() & looked_for.keys())
        self._told |= names
        # Programs may put anything into `sys.modules`.
        specs = [getattr(sys.modules[name], "__dict__", {}).get("__spec__") for name in names]
        absent: list[tuple[str, list[str] | None]] = []
        for name in looked_for.keys() - names:
            specs.append(PathFinder.find_spec(name, looked_for[name]))
            if specs[-1] is None:
                absent.append((name, looked_for[name]))
        return {"files": sorted(filter(None, map(_file, specs))), "absent": absent, "asked": asked, "path": sys.path}


def _file(spec: object) -> str:
    """The file of a module outside of the standard library; "" if there is none."""
    origin = getattr(spec, "origin", None)
    if not isinstance(origin, str) or not (file := Path(origin)).is_file():
        return ""
    belongs = any(file.is_relative_to(folder) for folder in _LIBRARY) and not _INSTALLED & set(file.parts)
    return "" if belongs else origin


IMPORTS = Imports()
"""Those of this process. They are noted from when it is put into `sys.meta_path`."""
