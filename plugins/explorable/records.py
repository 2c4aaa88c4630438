"""Records of a book that has a JSON Schema of them and no program: read and checked as the schema says."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import jsonschema


class JsonRecords:
    """Reads records `<suite>/<case>--<device>.json` that one JSON Schema describes.

    Every record has `status` ("ok" where it holds measurements), `device.name`, `provenance.finished`,
    `provenance.git_commit` and `provenance.dirty`; the schema may ask for more, and states the `unit` of numbers.

    Args:
        schema_file: The JSON Schema.
        command: What measures: `{suite}` and `{case}` stand for what is asked. "" where nothing does.
    """

    plan: Mapping[str, Sequence[str]] = {}
    measured = ("ok",)

    def __init__(self, schema_file: Path, command: str = "") -> None:
        self.schema_file = schema_file
        self._command = command

    @cached_property
    def _schema(self) -> Mapping[str, Any]:
        parsed: Mapping[str, Any] = json.loads(self.schema_file.read_text(encoding="utf-8"))
        return parsed

    def schema(self) -> Mapping[str, Any]:
        """The schema, parsed."""
        return self._schema

    def checked(self, text: bytes, place: str) -> tuple[Mapping[str, Any] | None, Sequence[str]]:
        """The record in a file, or what is wrong with it."""
        try:
            document = json.loads(text)
        except ValueError as error:
            return None, (f"not valid JSON: {error}",)
        faults = [
            f"at {'.'.join(map(str, fault.absolute_path)) or 'its top'}: {fault.message}, {says}"
            for checker, says in (
                (_EVERY, "and every record of explorable has that"),
                (jsonschema.Draft202012Validator(self._schema), f"says {self.schema_file.name}"),
            )
            for fault in checker.iter_errors(document)
        ]
        return (None, faults) if faults else (document, ())

    def command(self, suite: str, case: str = "") -> str:
        """The command that measures a suite, or one of its cases."""
        return self._command.format(suite=suite, case=case)

    def tables(self, documents: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
        """Every value of the records of a suite, one row for each record."""
        rows = [dict(_flat(document)) for document in documents]
        text = io.StringIO()
        columns = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return {"csv": text.getvalue(), "json": json.dumps(rows, indent=1) + "\n"}


_EVERY = jsonschema.Draft202012Validator(
    {
        "type": "object",
        "required": ["status", "device", "provenance"],
        "properties": {
            "status": {"type": "string"},
            "device": {"type": "object", "required": ["name"]},
            "provenance": {"type": "object", "required": ["finished", "git_commit", "dirty"]},
        },
    }
)


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted path and value of every leaf."""
    members = value.items() if isinstance(value, Mapping) else enumerate(value) if _listed(value) else None
    if members is None:
        yield path, value
        return
    for key, inner in members:
        yield from _flat(inner, f"{path}.{key}" if path else str(key))


def _listed(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
