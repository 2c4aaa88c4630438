"""A cache of JSON results and files under `.cache/`, addressed by everything they were computed from.

A key is a hash of content: a change of a source asks for another key. What a result was computed with besides is known
only afterwards, so it is kept with the result: the installed distributions, and modules that were not found. An entry
whose distributions have changed counts as absent.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from explorable.shared.installed import Imported, Installed
from explorable.shared.log import logger
from explorable.shared.sums import digest as digest
from explorable.shared.unchanged import Unchanged

log = logger("cache")


def fingerprint(paths: Iterable[Path]) -> str:
    """A hash of the content of files and of all files in folders, byte code left out, and of the Python version."""
    parts = [platform.python_version()]
    for path in paths:
        for file in files_in(path):
            parts += [path.name if file == path else file.relative_to(path).as_posix(), _content(file)]
    return digest(*parts)


def files_in(path: Path) -> list[Path]:
    """A file, or all files of a folder in order; none where nothing is there.

    Byte code is left out, and what is hidden by a point: a lock beside measured records, and their parts, are none.
    """
    if not path.is_dir():
        return [path] if path.is_file() else []
    walk = os.walk(path)
    found = (
        Path(folder, name)
        for folder, _, names in walk
        if not any(part == "__pycache__" or part[:1] == "." for part in Path(folder).relative_to(path).parts)
        for name in names
        if name[:1] != "."
    )
    return sorted(file for file in found if file.is_file())


_content = Unchanged(lambda file: digest(file.read_bytes()))
"""A hash of a file's content."""


class Cache:
    """JSON results by key. A cache without a folder keeps nothing.

    Args:
        folder: where the entries live; made when needed.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._installed = Installed()
        # Results share their needs, which are many: each is looked at once.
        self._hold: dict[str, bool] = {}
        self._kept: dict[Imported, str] = {}

    def get(self, key: str) -> Any | None:
        """The result stored under `key`, or None.

        An entry that cannot be read, was changed, or was computed with other distributions, counts as absent.
        """
        entry = self._entry(f"{key}.json")
        # Entries of releases before had no needs.
        if not isinstance(entry, dict) or entry.keys() != {"needs", "result"}:
            return None
        name = entry["needs"]
        if name not in self._hold:
            needs = self._entry(name)
            self._hold[name] = needs is not None and self._installed.hold(needs)
        return entry["result"] if self._hold[name] else None

    def put(self, key: str, result: Any, imported: Imported) -> None:
        """Store a result under `key`, with what the process that computed it had imported by then."""
        if self._folder is None:
            return
        if imported not in self._kept:
            needs = json.dumps(self._installed.needs(imported)).encode()
            self._kept[imported] = f"{digest(needs)}.needs"
            _keep(self._folder / self._kept[imported], needs)
        _keep(self._folder / f"{key}.json", json.dumps({"needs": self._kept[imported], "result": result}).encode())

    def _entry(self, name: str) -> Any | None:
        data = None if self._folder is None else _read(self._folder / name)
        return None if data is None else json.loads(data)


def cached_file(path: Path, make: Callable[[], bytes]) -> bytes:
    """The bytes of a file whose name is derived from all it is made of.

    Made when it is not there, or is not what was written: cut short by a full disk, changed by hand. On a disk that
    takes no files it is made each time.
    """
    data = _read(path)
    if data is None:
        data = make()
        _keep(path, data)
    return data


def _read(path: Path) -> bytes | None:
    """What `_keep` wrote there, if it is still that."""
    try:
        data = path.read_bytes()
        return data if _sum_of(path).read_text(encoding="ascii") == digest(data) else None
    except (OSError, ValueError):
        return None


def _keep(path: Path, data: bytes) -> None:
    """Write a file and its checksum. A disk that cannot be written gives one warning and does not end the build."""
    try:
        write_atomically(path, data)
        write_atomically(_sum_of(path), digest(data).encode())
    except OSError as error:
        _warn_once(f"the cache '{path.parent}' cannot be written: {error.strerror or error}; all is computed each time")


def _sum_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sum")


@cache
def _warn_once(message: str) -> None:
    # Not a defect of the site: a strict build goes on.
    log.info("%s", message)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it is never seen half written, not even by a build running at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
