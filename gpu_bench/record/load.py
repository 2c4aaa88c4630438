"""Reading a record: the one way in, for the command line, the site and the runner. Every trouble is one line.

A file is read as data that somebody else wrote: whole numbers only where JSON has them, no value that is not finite, no
nesting without end, no name given twice, no character that is not text. Then it is held against the description of its
fields (`shape.py`), its place in the folder, and what physics allows (`checks.py`): by Python alone, so that a bare
machine with a GPU judges as everybody else does.
"""

from __future__ import annotations

import json
import math
import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING
from functools import cache
from pathlib import Path
from typing import Any

from gpu_bench import BENCHMARK_VERSION
from gpu_bench.cases.case import Case
from gpu_bench.cases.kinds import KINDS
from gpu_bench.experiments.hybrid.arms import Arm
from gpu_bench.record import rules, shape
from gpu_bench.record.checks import inconsistencies
from gpu_bench.record.derive import derive
from gpu_bench.record.store import FINISHED, SCHEMA_FILE
from ironlaw.core import contents

LARGEST = 32 * 2**20
"""Bytes of a file that is still read as a record."""
DEEPEST = 24
"""Levels of nesting; a record has fewer than ten."""
LONGEST_NAME = 200
"""Characters of a name; the longest of a record, a run's or a package's, has some dozens."""

_FREE = frozenset({"message", "fallbacks", "faults"})
"""Fields whose text is what a program said, whatever that was."""


class RecordError(ValueError):
    """A file is not a record; the message is one line and does not name the file."""


def parse(text: bytes) -> dict[str, Any]:
    """The JSON object in `text`, with defaults for fields of a case that it did not know yet; not yet checked.

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
    _check(document, ())
    return _current(document)


def _refused(name: str) -> Any:
    raise RecordError(f"{name} is not a finite number, and not JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise RecordError(f"the name {twice[:80]!a} is given twice")
    return found


def _check(value: Any, place: tuple[str | int, ...]) -> None:
    """Refuse what no part of a record may be. The text of a place is made only where something is wrong there.

    Raises:
        RecordError: For the first such part.
    """
    if len(place) > DEEPEST:
        raise RecordError(f"nested too deeply at {_shown(place)[:80]}; allowed: {DEEPEST} levels")
    if isinstance(value, dict):
        for name, inner in value.items():
            if len(name) > LONGEST_NAME:
                raise RecordError(
                    f"at {_shown(place)}: the name {name[:80]!a}… has {len(name):,} characters; allowed: {LONGEST_NAME}"
                )
            _check_text(name, place)
            _check(inner, (*place, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _check(inner, (*place, index))
    elif isinstance(value, str):
        _check_text(value, place)
    elif isinstance(value, float) and not math.isfinite(value):
        raise RecordError(f"at {_shown(place)}: {value} is not a finite number")


def _check_text(text: str, place: tuple[str | int, ...]) -> None:
    if bad := _unprintable(text, _FREE.isdisjoint(place)):
        raise RecordError(f"at {_shown(place)!a}: the text contains the control character {bad!a}")


def _shown(place: tuple[str | int, ...]) -> str:
    """A place as a message has it: `/samples/step_s/0`, the beginning of a long one."""
    return "".join(f"/{key}" for key in place)[:200] or "/"


def _unprintable(text: str, named: bool) -> str:
    """Its first character that is not text: control characters, but for ends of lines, and halves of others.

    Where something is `named`, no character that nobody sees either: the name would pass for another, or its letters
    would be turned around.
    """
    refused = ("Cc", "Cs", "Cf", "Zl", "Zp") if named else ("Cc", "Cs")
    return next((one for one in text if one != "\n" and unicodedata.category(one) in refused), "")


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]


def _current(document: dict[str, Any]) -> dict[str, Any]:
    """The document with defaults of the settings that it did not know yet, of its case and of its runs."""
    case, arms = document.get("case"), document.get("arms")
    if isinstance(case, dict) and isinstance(kind := case.get("kind"), str) and kind in KINDS:
        document["case"] = {**_defaults(KINDS[kind].case), **case}
    if isinstance(arms, dict) and isinstance(arms.get("runs"), dict) and "worse" not in arms:
        for run in arms["runs"].values():
            if isinstance(run, dict) and isinstance(run.get("settings"), dict):
                run["settings"] = {**_defaults(Arm), **run["settings"]}
    return document


def _defaults(kind: Any) -> Mapping[str, Any]:
    """The defaults of the fields of a dataclass that records state, as JSON has them."""
    named = {name: one.default for name, (one, hint) in rules.hints(kind).items() if rules.stated(hint)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in named.items()
        if value is not MISSING and name not in ("name", "kind")
    }


@cache
def schema() -> Mapping[str, Any]:
    """The JSON Schema of a record, which also states the unit of each value."""
    found: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return found


def form_faults(record: Mapping[str, Any]) -> list[str]:
    """Where the record departs from its description in `shape.py`: the place, then what is wrong, a line each."""
    return [_one_line(fault) for fault in rules.faults(shape.Record, record)]


def read(path: Path, folder: Path | None = None, *, placed: bool = True) -> tuple[dict[str, Any] | None, list[str]]:
    """The record in a file and no faults, or None and the faults, a line each, which do not name the file.

    Its place is held against `folder`, the folder of records (None is its grandparent), unless `placed` is False.
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
        return contents.content(path, LARGEST)
    except contents.TooLargeError as error:
        raise RecordError(f"{error} are too many for a record; allowed: {LARGEST:,} B") from None
    except OSError as error:
        raise RecordError(f"cannot be read: {error.strerror or type(error).__name__}") from None


def checked(text: bytes, place: str | None) -> tuple[dict[str, Any] | None, list[str]]:
    """The record in a file's content with everything that follows from it (`derive.py`), or its faults.

    `place` is the path of the file in the folder of records, which is checked too; None leaves it unchecked.
    """
    try:
        record = parse(text)
    except RecordError as error:
        return None, [str(error)]
    if found := faults(record):
        return None, found
    view = derive(record)
    proper = f"{view['suite']}/{view['name']}--{view['device']['slug']}.json"
    return (view, []) if place in (None, proper) else (None, [f"the file should be called {proper}"])


def faults(record: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with what a record's file states, a line each: with its form, or its content."""
    return form_faults(record) or [_one_line(fault) for fault in inconsistencies(record)]


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
    """Everything that is wrong with one record file."""
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
        files += sorted(_below(path)) if path.is_dir() else [path]
    return files


def _below(folder: Path) -> Iterator[Path]:
    """The records below a folder. One that cannot be read is an error, since a fault may lie there."""

    def refuse(error: OSError) -> None:
        raise ValueError(f"folder '{error.filename}' cannot be read: {error.strerror}")

    for place, _, names in os.walk(folder, onerror=refuse):
        yield from (Path(place, name) for name in names if name.endswith(".json"))


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
