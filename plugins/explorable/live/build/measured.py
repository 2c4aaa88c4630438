"""Finds the records an act asks for, so that they travel with its source: see `explorable.live.runtime.measured`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TypeGuard

from explorable.live.runtime.measured import MeasuredRecord
from explorable.measured.errors import MeasuredError
from explorable.measured.values.recorded import Record, Records, described, plan
from explorable.measured.values.recorded import load as load_records
from explorable.shared.errors import Defect


class EvidenceError(Exception):
    """A call of `live.records` that cannot be answered, and where it stands."""

    def __init__(self, file: str, line: int, what: str, fix: str) -> None:
        super().__init__(what)
        self.file, self.line, self.what, self.fix = file, line, what, fix


@dataclass(frozen=True)
class Request:
    """One call of `live.records` in an act: its suite or pattern, its paths, its file and line."""

    suite: str
    paths: tuple[str, ...]
    file: str
    line: int


class Evidence:
    """The folder of records as acts see it. It is read when the first act asks.

    Args:
        folder: Where the records are.
        root: The folder of the project.
        planned: Names of the suites that can be measured; by default those of the book.
    """

    def __init__(self, folder: Path, root: Path, planned: Collection[str] | None = None) -> None:
        self._folder, self.root = folder, root
        self._planned = tuple(plan()) if planned is None else planned
        self._records: Records | None = None

    def asked_by(self, files: Mapping[str, str]) -> tuple[MeasuredRecord, ...]:
        """The records that an act's files ask for.

        Raises:
            EvidenceError: An argument is not literal, or a suite or path does not exist.
        """
        asked = tuple(request for file, text in files.items() for request in requests(file, text))
        if not asked:
            return ()
        if self._records is None:
            # The plugin `measured` reports what is wrong with a record; here a bad one is only left out.
            self._records = load_records(self._folder, self.root)
        for request in asked:
            self._check(request, self._records)
        return tuple(self._reduced(record, asked) for record in self._records.records if _wanted(record, asked))

    def _check(self, request: Request, known: Records) -> None:
        suites = {*known.suites, *self._planned}
        if not any(fnmatchcase(suite, request.suite) for suite in suites):
            raise EvidenceError(
                request.file,
                request.line,
                f"there is no suite {request.suite!r} of records",
                f"Suites: {', '.join(sorted(suites))}",
            )
        for path in request.paths:
            if not described(path):
                raise EvidenceError(request.file, request.line, f"records have no {path!r}", "See their schema")

    def _reduced(self, record: Record, asked: tuple[Request, ...]) -> MeasuredRecord:
        paths = [path for request in asked if fnmatchcase(record.suite, request.suite) for path in request.paths]
        return MeasuredRecord(
            suite=record.suite,
            case=record.case,
            device=record.device,
            title=record.device_name,
            day=record.day,
            status=record.status,
            values={path: _value(record, path) for path in dict.fromkeys(paths)},
        )


def requests(file: str, source: str) -> Iterator[Request]:
    """The calls of `live.records` in a file of an act. Raises `EvidenceError` for an argument that is not text."""
    for line, texts in _calls(source):
        if not texts:
            raise EvidenceError(
                file, line, "live.records was not called with literal texts", 'Write live.records("suite", "path", …)'
            )
        suite, *paths = texts
        yield Request(suite, tuple(paths), file, line)


@lru_cache(maxsize=1024)
def _calls(source: str) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Line and texts of each call of `live.records`; no texts where they are not all literal. Acts share modules."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ()  # Loading it says so better.
    return tuple((node.lineno, _texts(node)) for node in ast.walk(tree) if _is_call(node))


def _is_call(node: ast.AST) -> TypeGuard[ast.Call]:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "records"):
        return False
    return isinstance(node.func.value, ast.Name) and node.func.value.id == "live"


def _texts(call: ast.Call) -> tuple[str, ...]:
    values = [argument.value if isinstance(argument, ast.Constant) else None for argument in call.args]
    texts = tuple(value for value in values if isinstance(value, str))
    return () if call.keywords or len(texts) != len(values) else texts


def defect(error: EvidenceError) -> Defect:
    """The error as the build reports it."""
    return Defect(error.file, error.line, error.what, error.fix)


def _wanted(record: Record, asked: tuple[Request, ...]) -> bool:
    return any(fnmatchcase(record.suite, request.suite) for request in asked)


def _value(record: Record, path: str) -> str | float | int | bool | None:
    """What stands at a path; None where the run ended before it was measured."""
    try:
        value = record.at(path)
    except MeasuredError:
        return None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise EvidenceError("act.py", 1, f"{path!r} is a group of values", "Ask for one value")
