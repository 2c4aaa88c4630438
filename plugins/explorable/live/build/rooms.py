"""Which files an act consists of: its folder's modules, and those that it imports of rooms, which acts share.

A room is a folder beside those of the acts that holds no `act.py`. An act imports its modules as
`from ..missions.audit import audit`, and they import each other as `from .facts import Track`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from explorable.live.build.imports import imports_in

MAIN, CHARTS = "act.py", "charts.py"


class Written(NamedTuple):
    """Which act a page shows: `an-act`, or `an-act: one`, where the folder `an_act` makes an act of any parameter."""

    of: str
    parameter: str

    @classmethod
    def read(cls, text: str) -> Written:
        """What stands behind `/// act |`."""
        of, _, parameter = text.partition(":")
        return cls(of.strip(), parameter.strip())

    @property
    def name(self) -> str:
        """The act's own name, by which addresses and readers' ledgers know it: `one-an-act`."""
        return f"{self.parameter}-{self.of}" if self.parameter else self.of

    def __str__(self) -> str:
        return f"{self.of}: {self.parameter}" if self.parameter else self.of

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return self.of.replace("-", "_")


def act_modules(folder: Path) -> list[Path]:
    """The act's own modules, `act.py` first and without `charts.py`, and the modules of rooms that they import."""
    own = sorted(path for path in folder.glob("*.py") if path.name not in (MAIN, CHARTS))
    found = [folder / MAIN, *own]
    for path in found:  # It grows while it is walked.
        found += [module for module in _of_rooms(path, folder) if module not in found]
    return found


def shared_files(acts: Path) -> list[Path]:
    """Python that no single act owns: beside the folders of the acts, and in rooms."""
    rooms = [path for path in acts.iterdir() if path.is_dir() and not (path / MAIN).exists()]
    return sorted([*acts.glob("*.py"), *(file for room in rooms for file in room.glob("*.py"))])


def names_in(path: Path) -> frozenset[str] | None:
    """The names that a file defines or imports; None where they cannot be known without running it."""
    try:
        return _names(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError):
        return None


@lru_cache(maxsize=256)
def _names(text: str) -> frozenset[str] | None:
    tree = ast.parse(text)
    imported = {
        one.asname or one.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names
    }
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assigned = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return None if "*" in imported else frozenset(imported | defined | assigned)


def _of_rooms(path: Path, act: Path) -> Iterator[Path]:
    """Modules of rooms that a file imports relatively. Files with errors give none: running them reports the error."""
    try:
        text = path.read_text(encoding="utf-8")
    except ValueError:
        return
    for node in imports_in(text):
        if not isinstance(node, ast.ImportFrom) or not node.module or not 1 <= node.level <= 2:
            continue
        base = path.parent if node.level == 1 else path.parent.parent
        target = base.joinpath(*node.module.split(".")).with_suffix(".py")
        if target.is_file() and target.parent != act and not (target.parent / MAIN).exists():
            yield target
