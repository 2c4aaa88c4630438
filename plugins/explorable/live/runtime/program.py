"""An act as it travels: its files and the records that they ask for, as one JSON document for build and browser.

An act may consist of several files. `act.py` imports the others relatively, `from .stages import Setting`. What
several acts have in common stands in a *room*, a folder beside theirs without an `act.py`: `from ..missions.cloud
import CLOUD`.
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
from pathlib import PurePosixPath
from types import ModuleType

from explorable.live.runtime.measured import MeasuredRecord
from explorable.live.runtime.tracebacks import remember


@dataclass(frozen=True)
class Program:
    """What an act consists of.

    Attributes:
        files: How errors name a file -> its text; `act.py` comes first.
        records: The measured cases that the files ask for.
        parameter: What the page gives to the function `act` of `act.py`; empty for one that defines `ACT`.
    """

    files: Mapping[str, str]
    records: tuple[MeasuredRecord, ...] = ()
    parameter: str = ""

    def to_json(self) -> str:
        """The document that the site publishes."""
        records = [asdict(one) for one in self.records]
        return json.dumps({"files": dict(self.files), "records": records, "parameter": self.parameter})

    @staticmethod
    def from_json(text: str) -> Program:
        """The program in a document that `to_json` wrote."""
        document = json.loads(text)
        records = tuple(MeasuredRecord(**one) for one in document["records"])
        return Program(document["files"], records, document["parameter"])


@contextmanager
def importable(package: str, files: Mapping[str, str], folder: str) -> Iterator[list[str]]:
    """While it is active, `package` consists of the files in `folder`, and each other folder is a package beside it.

    All are imported afresh. Gives the list of the files that were imported, which grows with each.
    """
    homes = {file: PurePosixPath(file).parent for file in files}
    packages = {file: package if str(home) == folder else f"acts.{home.name}" for file, home in homes.items()}
    for own in {package, *packages.values()}:
        for name in [name for name in sys.modules if name == own or name.startswith(f"{own}.")]:
            del sys.modules[name]
    for part in ("acts", package, *packages.values()):
        parent = sys.modules.setdefault(part, ModuleType(part))
        parent.__path__ = []
    modules = {f"{packages[file]}.{PurePosixPath(file).stem}": (file, text) for file, text in files.items()}
    finder = _Finder(modules)
    sys.meta_path.insert(0, finder)
    try:
        yield finder.imported
    finally:
        sys.meta_path.remove(finder)


class _Finder(MetaPathFinder):
    """Finds the modules of a program, each by its full name."""

    def __init__(self, modules: Mapping[str, tuple[str, str]]) -> None:
        self._modules = modules
        self.imported: list[str] = []

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if (found := self._modules.get(fullname)) is None:
            return None
        self.imported.append(found[0])
        return importlib.util.spec_from_loader(fullname, _Loader(*found))


class _Loader(Loader):
    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text

    def exec_module(self, module: ModuleType) -> None:
        remember(self._file, self._text)
        exec(compile(self._text, self._file, "exec", dont_inherit=True), vars(module))
