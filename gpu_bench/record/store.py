"""Records: where they are, and written so that nothing finished can be lost."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FINISHED = ("ok", "oom", "throttled", "unsupported")
"""States that are a result. `error` and `timeout` are not: the next run tries those cases again."""
SCHEMA_FILE = Path(__file__).parent / "schema.json"
RESULTS = Path(__file__).parents[1] / "results"


def record_path(folder: Path, suite: str, case: str, slug: str) -> Path:
    """`<folder>/<suite>/<case>--<device>.json`: the records of several devices live side by side."""
    return folder / suite / f"{case}--{slug}.json"


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write the file at once or not at all: a reader, a crash or a power cut never meets half a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1, ensure_ascii=False, allow_nan=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private by default; a record is meant to be read.
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    if os.name == "posix":
        # The rename itself is only durable once the folder is.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_json(path: Path) -> dict[str, Any] | None:
    """The document, or None when there is none or it is not a JSON object."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None
