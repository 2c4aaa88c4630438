"""Records: where they are, and written so that nothing finished can be lost."""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FINISHED = ("measured", "ok", "throttled", "unsettled", "recompiled", "diverged", "oom", "unsupported")
"""Outcomes and states that are a result. `error`, `timeout` and `impossible` are not: the next run tries
those cases again."""
SCHEMA_FILE = Path(__file__).parent / "schema.json"
RESULTS = Path(__file__).parents[1] / "results"


TEMPORARY = ".writing"
"""How the name of a file ends that is being written. One that stays was left by a process that was killed."""


def sweep(folder: Path) -> int:
    """Remove what killed processes left half written below a folder that no other run uses; returns how many files."""
    left = list(folder.rglob(f".*{TEMPORARY}")) if folder.is_dir() else []
    for file in left:
        file.unlink(missing_ok=True)
    return len(left)


def record_path(folder: Path, suite: str, case: str, slug: str) -> Path:
    """`<folder>/<suite>/<case>--<device>.json`: the records of several devices live side by side."""
    return folder / suite / f"{case}--{slug}.json"


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write the file at once or not at all: a reader, a crash or a power cut never meets half a record.

    Raises:
        OSError: When it cannot be written, e.g. because the disk is full; it names the file.
    """
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    write_bytes(path, f"{text}\n".encode())


def write_bytes(path: Path, data: bytes) -> None:
    """The same for any file. Raises `OSError`, which names the file, also where a link or a device has its name."""
    name: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A file that takes the name of a device takes the device away: of /dev/null, from the whole machine.
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            raise OSError(errno.EINVAL, "is there already and is no regular file")
        handle, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=TEMPORARY)
        name = Path(made)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private by default; a record is meant to be read.
        name.chmod(0o644)
        name.replace(path)
        if os.name == "posix":
            # The rename itself is only durable once the folder is.
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        if name is not None:
            name.unlink(missing_ok=True)


def read_json(path: Path) -> dict[str, Any] | None:
    """The document, or None when there is none or it is not a JSON object."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
