"""Reading a record: the one way in, for the command line, the site and the runner. Every trouble is one line.

A file is read as data that somebody else wrote: whole numbers only where JSON has them, no value that is not finite, no
nesting without end, no name given twice, no character that is not text. Then it is held against the JSON Schema, its
place in the folder, and everything in it that follows from something else (`checks.py`).
"""

from __future__ import annotations

import importlib
import json
import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any

from gpu_bench import BENCHMARK_VERSION, SCHEMA_VERSION
from gpu_bench.cases.case import Case
from gpu_bench.cases.kinds import KINDS
from gpu_bench.record.checks import inconsistencies
from gpu_bench.record.store import FINISHED, SCHEMA_FILE

LARGEST = 32 * 2**20
"""Bytes of a file that is still read as a record."""
DEEPEST = 24
"""Levels of nesting; a record has fewer than ten."""


class RecordError(ValueError):
    """A file is not a record; the message is one line and does not name the file."""


def parse(text: bytes) -> dict[str, Any]:
    """The JSON object in `text`, as the present version of the schema has it, not yet checked.

    Raises:
        RecordError: For anything that is not one finite JSON object of text and numbers.
    """
    if len(text) > LARGEST:
        raise RecordError(f"{len(text):,} B are too many for a record; allowed: {LARGEST:,} B")
    try:
        document = json.loads(text.decode("utf-8"), parse_constant=_refused, object_pairs_hook=_once)
    except RecursionError:
        raise RecordError(f"nested too deeply; allowed: {DEEPEST} levels") from None
    except RecordError:
        raise
    except (UnicodeDecodeError, ValueError) as error:
        raise RecordError(f"not valid JSON: {_one_line(str(error))}") from None
    if not isinstance(document, dict):
        raise RecordError("not a JSON object")
    for path, value, depth in _leaves(document):
        if depth > DEEPEST:
            raise RecordError(f"nested too deeply at {path[:80]}; allowed: {DEEPEST} levels")
        if isinstance(value, float) and not math.isfinite(value):
            raise RecordError(f"at {path}: {value} is not a finite number")
        if isinstance(value, str) and (bad := _unprintable(value)):
            raise RecordError(f"at {path[:200]!a}: the text contains the control character {bad!a}")
    return upgraded(document)


def _refused(name: str) -> Any:
    raise RecordError(f"{name} is not a finite number, and not JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise RecordError(f"the name {next(name for name in names if names.count(name) > 1)!a} is given twice")
    return found


def _leaves(document: Any) -> Iterator[tuple[str, Any, int]]:
    """Every value and every name of a document, with its place and its depth; without recursion."""
    waiting: list[tuple[str, Any, int]] = [("", document, 0)]
    while waiting:
        path, value, depth = waiting.pop()
        if isinstance(value, dict):
            for name, inner in value.items():
                yield path, name, depth
                waiting.append((f"{path}/{name}", inner, depth + 1))
        elif isinstance(value, list):
            waiting.extend((f"{path}/{index}", inner, depth + 1) for index, inner in enumerate(value))
        yield path, value, depth


def _unprintable(text: str) -> str:
    """Its first character that is not text: control characters, but for ends of lines, and halves of others."""
    return next((one for one in text if one != "\n" and unicodedata.category(one) in ("Cc", "Cs")), "")


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]


def upgraded(document: dict[str, Any]) -> dict[str, Any]:
    """A record of version 2 as version 3 has it: what it did not say is null, or the default of its time."""
    if document.get("schema_version") != 2:
        ran = document.get("provenance")
        if isinstance(ran, dict) and ran.get("sources") is None:
            raise RecordError(f"at /provenance/sources: a record of version {SCHEMA_VERSION} names its sources")
        return {"withheld": None, "arms": None, **document}
    try:
        case, ran = document["case"], document["provenance"]
        if "sources" in ran:
            raise RecordError("at /schema_version: 2, and the record says what only version 3 does")
        missing = {
            one.name: one.default
            for one in fields(KINDS[case["kind"]].case)
            if one.name not in case and one.default is not MISSING and not one.metadata.get("plan")
        }
        used = document["utilization"]
        added = {"sources": None, "nccl": None, "packages": None, "environment": None}
        repeats = [
            {**{name: value for name, value in one.items() if name != "gpu_samples"}, "gpu": None, "host": ran["host"]}
            for one in ran["repeats"]
        ]
        return {
            **document,
            "schema_version": SCHEMA_VERSION,
            "case": {**case, **missing},
            "attention_ran": None,
            "withheld": None,
            "arms": None,
            "utilization": None if used is None else {**used, "ceilings": []},
            "provenance": {**ran, **added, "repeats": repeats},
        }
    except RecordError:
        raise
    except (KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"a record of version 2 without {_one_line(str(error))}") from None


@cache
def schema() -> Mapping[str, Any]:
    """The JSON Schema of a record, which also states the unit of each value."""
    found: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return found


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator, FormatChecker

    return Draft202012Validator(schema(), format_checker=FormatChecker())


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
    errors = sorted(_validator().iter_errors(record), key=lambda error: error.json_path)
    return [f"at {_pointer(error.absolute_path)}: {_one_line(error.message)}" for error in errors]


def _pointer(parts: Iterable[str | int]) -> str:
    """A JSON pointer (RFC 6901); the root is shown as `/`, because an empty one is hard to see in a message."""
    return "/" + "/".join(str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def read(path: Path, folder: Path | None = None, *, placed: bool = True) -> tuple[dict[str, Any] | None, list[str]]:
    """The record in a file, or everything that is wrong with it.

    Args:
        path: The file.
        folder: The folder of records that it lies in, which its place is held against; None is its grandparent.
        placed: Whether its place counts at all.

    Returns:
        The record and no faults, or None and the faults, a line each, which do not name the file.
    """
    place = None
    if placed:
        place = path.relative_to(folder).as_posix() if folder is not None else "/".join(path.parts[-2:])
    try:
        return checked(content(path), place)
    except RecordError as error:
        return None, [str(error)]


def content(path: Path) -> bytes:
    """The bytes of a file that may be a record. Raises `RecordError` if it cannot be read or is too large."""
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise RecordError(f"{size:,} B are too many for a record; allowed: {LARGEST:,} B")
        return path.read_bytes()
    except OSError as error:
        raise RecordError(f"cannot be read: {error.strerror or type(error).__name__}") from None


def checked(text: bytes, place: str | None) -> tuple[dict[str, Any] | None, list[str]]:
    """The record in a file's content, or its faults.

    `place` is the path of the file in the folder of records, which is checked too; None leaves it unchecked.
    """
    try:
        record = parse(text)
    except RecordError as error:
        return None, [str(error)]
    found = faults(record)
    if not found and place is not None:
        proper = f"{record['suite']}/{record['name']}--{record['device']['slug']}.json"
        found = [] if place == proper else [f"the file should be called {proper}"]
    return (None, found) if found else (record, [])


def faults(record: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with a record, a line each: with its form, where that can be checked, or its content."""
    found = schema_faults(record) if schema_unchecked() is None else []
    return found or [_one_line(fault) for fault in inconsistencies(record)]


def answers(path: Path, case: Case) -> bool:
    """Whether the file is a finished, valid record of exactly this case by this version."""
    record, _ = read(path, placed=False) if path.is_file() else (None, [])
    return (
        record is not None
        and record["benchmark_version"] == BENCHMARK_VERSION
        and record["case"] == case.as_dict()
        and record["status"] in FINISHED
    )


def file_faults(path: Path) -> list[str]:
    """Everything that is wrong with one record file, as far as `schema_unchecked` leaves it to be found."""
    return read(path)[1]


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


def valid(paths: Iterable[Path]) -> list[tuple[Path, dict[str, Any]]]:
    """The records that the paths name, each with its file.

    Raises:
        ValueError: For a path that does not exist and for a file that is not a valid record, which it names.
    """
    found = []
    for path in paths:
        for file in record_files([path]):
            # A file given by its own path may be a copy under another name.
            record, faults = read(file, placed=path.is_dir())
            if record is None:
                raise ValueError(f"record '{file}': {faults[0]}")
            found.append((file, record))
    return found
