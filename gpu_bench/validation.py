"""Checking records: against the JSON Schema, against themselves, and against their place in the folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpu_bench.records import SCHEMA_FILE, inconsistencies, read_json


class ValidatorMissingError(Exception):
    """The `jsonschema` package is not installed. Only checking needs it; writing records does not."""


def schema_faults(record: Mapping[str, Any]) -> list[str]:
    """Where the record departs from the schema, one line each: the place, then what is wrong.

    Raises:
        ValidatorMissingError: When the package that checks schemas is missing.
    """
    try:
        from jsonschema import Draft202012Validator
    except ImportError as error:
        raise ValidatorMissingError("validating needs a package: python -m pip install jsonschema") from error
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
    """Everything wrong with one record file."""
    record = read_json(path)
    if record is None:
        return ["not a JSON object"]
    faults = schema_faults(record)
    if faults:
        return faults
    faults = inconsistencies(record)
    place = f"{record['suite']}/{record['name']}--{record['device']['slug']}.json"
    if path.parts[-2:] != tuple(place.split("/")):
        faults.append(f"the file should be called {place}")
    return faults
