"""A cache of JSON results and files under `.cache/`, addressed by everything they were computed from.

A key is a hash of content, so an entry never has to be invalidated: a change anywhere asks for another key.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.plugins import get_plugin_logger

log = get_plugin_logger("cache")


def digest(*parts: str | bytes) -> str:
    """A hash of the parts, in which their borders count: 32 hexadecimal digits."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "big") + data)
    return state.hexdigest()[:32]


def fingerprint(paths: Iterable[Path]) -> str:
    """A hash of the content of files and of all files in folders, byte code left out, and of the Python version."""
    files: list[tuple[str, bytes]] = []
    for path in paths:
        if path.is_file():
            files.append((path.name, path.read_bytes()))
        for file in sorted(path.rglob("*")) if path.is_dir() else ():
            if file.is_file() and "__pycache__" not in file.parts:
                files.append((file.relative_to(path).as_posix(), file.read_bytes()))
    return digest(platform.python_version(), *(part for name, data in files for part in (name, data)))


class Cache:
    """JSON results by key. A cache without a folder keeps nothing.

    Args:
        folder: where the entries live; made when needed.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def get(self, key: str) -> Any | None:
        """The result stored under `key`, or None. An entry that cannot be read, or was changed, counts as absent."""
        data = None if self._folder is None else _read(self._folder / f"{key}.json")
        return None if data is None else json.loads(data)

    def put(self, key: str, result: Any) -> None:
        """Store a result under `key`."""
        if self._folder is not None:
            _keep(self._folder / f"{key}.json", json.dumps(result).encode())


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


def drop_broken(folder: Path, pattern: str) -> None:
    """Remove files that have changed since `sealed`, in a folder that another program writes."""
    for path in folder.glob(pattern):
        if _read(path) is None:
            path.unlink()


def sealed(folder: Path, pattern: str) -> None:
    """Note what is in the files of a folder that are new."""
    for path in folder.glob(pattern):
        if not _sum_of(path).is_file():
            _keep(path, path.read_bytes())


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
