"""What is installed, held against what a result was computed with: a changed or a new distribution shows."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from explorable.shared.imports import EVERY
from explorable.shared.sums import digest

Needs = Mapping[str, Any]
"""What a result was computed with, as JSON."""

_TOP = re.compile(r"^(?!\.\./)([^/,\n]+)", re.MULTILINE)


@dataclass(frozen=True)
class Imported:
    """What a process has imported so far: see `explorable.shared.imports`. One that imported nothing needs nothing."""

    files: frozenset[str] = frozenset()
    absent: frozenset[tuple[str, tuple[str, ...] | None]] = frozenset()
    asked: frozenset[str] = frozenset()
    path: tuple[str, ...] = ()

    def __or__(self, news: Mapping[str, Any]) -> Imported:
        """With what the process tells of since."""
        absent = {(name, None if path is None else tuple(path)) for name, path in news["absent"]}
        return Imported(
            self.files | set(news["files"]), self.absent | absent, self.asked | set(news["asked"]), tuple(news["path"])
        )


class Installed:
    """What is installed now. It looks once: a new one sees what has changed since."""

    def __init__(self) -> None:
        importlib.invalidate_caches()
        self._stamp = cache(_stamp)
        self._provided = cache(_provided)
        self._sum = cache(_sum)
        # Processes import mostly the same: each needs what one before it needed, and a little more.
        self._records = cache(self._records_of)

    def needs(self, imported: Imported) -> Needs:
        """The distributions and files behind what a process imported, each with its stamp, and what it did not find."""
        distributions: set[Path] = set()
        files: set[str] = set()
        for file in imported.files:
            records = self._records(file, imported.path)
            distributions.update(records)
            if not records:
                files.add(file)
        return {
            "distributions": {str(record): self._stamp(record) for record in sorted(distributions)},
            "files": {file: self._sum(Path(file)) for file in sorted(files)},
            "absent": sorted(([name, path] for name, path in imported.absent), key=str),
            "asked": {name: self._asked(name, imported.path) for name in sorted(imported.asked)},
            "path": list(imported.path),
            "found through": _links(imported.path),
        }

    def hold(self, needs: Needs) -> bool:
        """Whether a process would find the same again."""
        path = needs["path"]
        return (
            needs["found through"] == _links(path)
            and all(self._sum(Path(file)) == stamp for file, stamp in needs["files"].items())
            and all(self._stamp(Path(record)) == stamp for record, stamp in needs["distributions"].items())
            and all(self._asked(name, path) == stamp for name, stamp in needs["asked"].items())
            and all(
                PathFinder.find_spec(name, path if where is None else where) is None for name, where in needs["absent"]
            )
        )

    def _records_of(self, file: str, path: tuple[str, ...]) -> Sequence[Path]:
        """The records of the distributions to which a file belongs."""
        return [record for folder in path for record in self._of(Path(file), Path(folder))]

    def _of(self, file: Path, folder: Path) -> Sequence[Path]:
        """The records of the distributions in a folder to which a file in it belongs."""
        if not file.is_relative_to(folder):
            return ()
        top = file.relative_to(folder).parts[0].partition(".")[0]
        return self._provided(folder).get(top, ())

    def _asked(self, name: str, path: Sequence[str]) -> str:
        """A stamp of the distribution called `name`; "" if there is none."""
        records = [record for folder in path for record in Path(folder).glob("*.dist-info/RECORD")]
        wanted = [one for one in records if name == EVERY or _plain(_name(one)) == _plain(name)]
        return digest(*(self._stamp(record) for record in sorted(wanted))) if wanted else ""


def everything() -> str:
    """A stamp of all that is installed for this Python."""
    records = {record for folder in sys.path for record in Path(folder).glob("*.dist-info/RECORD")}
    return digest(*(_stamp(record) for record in sorted(records)))


def _stamp(record: Path) -> str:
    """What tells one content of a distribution from another: its list of hashes, and size and time of its files."""
    try:
        text = record.read_text(encoding="utf-8")
    except OSError:
        return ""
    parts = [text]
    # Tens of thousands of files: `os` needs a fifth of the time of `pathlib`.
    folder = str(record.parents[1])
    for line in text.splitlines():
        name = line.rpartition(",")[0].rpartition(",")[0].strip('"')
        if "__pycache__" in name:
            continue
        try:
            found = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118
        except OSError:
            parts.append("missing")
        else:
            parts.append(f"{found.st_size} {found.st_mtime_ns}")
    return digest(*parts)


def _provided(folder: Path) -> dict[str, tuple[Path, ...]]:
    """Each module at the top of a folder, and the records of the distributions that have files in it."""
    provided: dict[str, tuple[Path, ...]] = {}
    for record in sorted(folder.glob("*.dist-info/RECORD")):
        for top in set(_TOP.findall(record.read_text(encoding="utf-8"))):
            name = top.partition(".")[0]
            provided[name] = (*provided.get(name, ()), record)
    return provided


def _links(path: Sequence[str]) -> str:
    """A sum of the files by which folders of libraries name further folders, as editable installations do."""
    return digest(*(_sum(file) for folder in path for file in sorted(Path(folder).glob("*.pth"))))


def _sum(file: Path) -> str:
    try:
        return digest(file.read_bytes())
    except OSError:
        return ""


def _name(record: Path) -> str:
    return record.parent.name.partition("-")[0]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
