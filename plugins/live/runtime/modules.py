"""The modules beside an act's `act.py`: how they travel with its source, and how it imports them.

An act may consist of several files. `act.py` imports the others relatively, `from .stages import Setting`. The build
appends each to the act's source as a comment line; whoever loads that text imports them from there. Lines of `act.py`
keep their numbers.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from plugins.live.runtime.tracebacks import remember

MARK = "# carried module: "
"""How a line that carries a module begins."""


@dataclass(frozen=True)
class CarriedModule:
    """A module of an act: its name within the act's package, how errors name its file, its text."""

    name: str
    filename: str
    source: str


def attach(source: str, modules: list[CarriedModule]) -> str:
    """The source of `act.py` with a line for each module."""
    lines = [f"{MARK}{json.dumps(asdict(module), ensure_ascii=True, sort_keys=True)}\n" for module in modules]
    return "".join((source.rstrip(), "\n", *lines)) if lines else source


def carried(source: str) -> tuple[CarriedModule, ...]:
    """The modules that come with a source."""
    lines = (line for line in source.splitlines() if line.startswith(MARK))
    return tuple(CarriedModule(**json.loads(line.removeprefix(MARK))) for line in lines)


@contextmanager
def importable(package: str, modules: tuple[CarriedModule, ...]) -> Iterator[None]:
    """While it is active, `package` consists of these modules, imported afresh."""
    stale = [name for name in sys.modules if name == package or name.startswith(f"{package}.")]
    for name in stale:
        del sys.modules[name]
    for part in ("acts", package):
        parent = sys.modules.setdefault(part, ModuleType(part))
        parent.__path__ = []
    finder = _Finder({f"{package}.{module.name}": module for module in modules})
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder(MetaPathFinder):
    def __init__(self, modules: Mapping[str, CarriedModule]) -> None:
        self._modules = modules

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        module = self._modules.get(fullname)
        return None if module is None else importlib.util.spec_from_loader(fullname, _Loader(module))


class _Loader(Loader):
    def __init__(self, module: CarriedModule) -> None:
        self._module = module

    def exec_module(self, module: ModuleType) -> None:
        remember(self._module.filename, self._module.source)
        exec(compile(self._module.source, self._module.filename, "exec", dont_inherit=True), vars(module))
