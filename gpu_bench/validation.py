"""Checking records: against the JSON Schema, against themselves, and against their place in the folder."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpu_bench.records import SCHEMA_FILE, inconsistencies, read_json


def schema_unchecked() -> str | None:
    """What to tell where records cannot be held against their schema; None where they can.

    A bare machine with a GPU may lack the package that does it. Sums, summaries and names are checked all the same, and
    the schema by whoever takes the records in.
    """
    try:
        importlib.import_module("jsonschema")
    except ImportError:
        return "the schema was not checked, which needs a package: python -m pip install jsonschema"
    return None


def schema_faults(record: Mapping[str, Any]) -> list[str]:
    """Where the record departs from the schema, one line each: the place, then what is wrong. Needs `jsonschema`."""
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))
    errors = sorted(validator.iter_errors(record), key=lambda error: error.json_path)
    return [f"{error.json_path}: {error.message[:300]}" for error in errors]


def record_files(paths: Iterable[Path]) -> list[Path]:
    """The records that the paths name: files themselves, folders with all below them.

    Raises:
        ValueError: When a path does not exist.
    """
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise ValueError(f"path '{path}' does not exist; allowed: a record or a folder of records")
        files += sorted(path.rglob("*.json")) if path.is_dir() else [path]
    return files


def file_faults(path: Path) -> list[str]:
    """Everything wrong with one record file, as far as `schema_unchecked` leaves it to be found."""
    record = read_json(path)
    if record is None:
        return ["not a JSON object"]
    faults = schema_faults(record) if schema_unchecked() is None else []
    if faults:
        return faults
    faults = inconsistencies(record)
    if faults:
        return faults
    place = f"{record['suite']}/{record['name']}--{record['device']['slug']}.json"
    return [] if path.parts[-2:] == tuple(place.split("/")) else [f"the file should be called {place}"]
