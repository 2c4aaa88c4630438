"""TOML files of entries, such as claims: checked against a JSON Schema, entries with lines, faults in words."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema

from explorable.shared.errors import Defect, nearest


@dataclass(frozen=True)
class EntryFile:
    """A TOML file: its valid entries with their lines, their document, what is wrong, and with which ids."""

    name: str
    source: str
    entries: tuple[tuple[dict[str, Any], int], ...]
    defects: tuple[Defect, ...]
    broken: frozenset[str] = frozenset()


class Entries:
    """The files of one folder, which one schema describes: as a whole, or `$defs/sources` of it the entries `source`.

    Args:
        folder: Where the files are.
        root: What messages name them relative to.
        schema: The file of the JSON Schema.
    """

    def __init__(self, folder: Path, root: Path, schema: Path) -> None:
        self._folder, self._root = folder, root
        self._schema = json.loads(schema.read_text("utf-8"))
        self.defects: list[Defect] = []

    def read(self, file: str, kind: str) -> EntryFile:
        """The `[[kind]]` entries of a file. What is wrong with it is added to `defects`."""
        path, definitions = self._folder / file, self._schema["$defs"]
        name = path.relative_to(self._root).as_posix() if path.is_relative_to(self._root) else str(path)
        chosen = {**definitions.get(f"{kind}s", self._schema), "$defs": definitions}
        found = _read(path, name, kind, json.dumps(chosen))
        self.defects += found.defects
        return found


def _read(path: Path, name: str, kind: str, schema: str) -> EntryFile:
    """The entries that are valid, with their lines; `name` is the file's name in messages."""
    try:
        return _checked(path.read_text("utf-8"), name, kind, schema)
    except FileNotFoundError:
        return EntryFile(
            name, "", (), (Defect(name, None, "the file is missing", f"write a [[{kind}]] for each there"),)
        )
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line = int(found[1]) if found else None
        read = re.findall(r'^id\s*=\s*"([^"]+)"', path.read_text("utf-8", "replace"), re.MULTILINE)
        return EntryFile(name, "", (), (Defect(name, line, f"not valid TOML: {error}"),), frozenset(read))


@lru_cache(maxsize=64)
def _checked(text: str, name: str, kind: str, schema: str) -> EntryFile:
    """The entries of a text. A server asks again after each edit, and most files are as they were."""
    # Decimals keep the digits that the source prints: 6.0 is not 6.
    document = tomllib.loads(text, parse_float=Decimal)
    validator = jsonschema.Draft202012Validator(json.loads(schema))
    rows = [number for number, line in enumerate(text.splitlines(), 1) if line.strip() == f"[[{kind}]]"]
    defects: list[Defect] = []
    broken: set[int | None] = set()
    for fault in sorted(validator.iter_errors(document), key=lambda fault: list(map(str, fault.absolute_path))):
        parts = list(fault.absolute_path)
        entry = parts[1] if len(parts) > 1 and isinstance(parts[1], int) else None
        broken.add(entry)
        defects.append(Defect(name, _row(text, rows, entry, _key(fault, parts)), *_words(fault)))
    entries = document.get(kind, []) if None not in broken else []
    valid = tuple((item, rows[i]) for i, item in enumerate(entries) if i not in broken)
    wrong = (item for i, item in enumerate(document.get(kind, [])) if None in broken or i in broken)
    ids = frozenset(str(item["id"]) for item in wrong if isinstance(item, dict) and "id" in item)
    # The schema has one fault for each missing key, and their words name all of them.
    return EntryFile(name, str(document.get("source", "")), valid, tuple(dict.fromkeys(defects)), ids)


def _key(error: jsonschema.ValidationError, parts: Sequence[str | int]) -> str:
    """The key of an entry that an error is about; empty for the whole entry."""
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        return next((key for key in error.instance if key not in _allowed(error)), "")
    return str(parts[2]) if len(parts) > 2 else ""


def _allowed(error: jsonschema.ValidationError) -> Mapping[str, Any]:
    """The keys that the schema knows where an error is."""
    allowed: Mapping[str, Any] = error.schema["properties"] if isinstance(error.schema, dict) else {}
    return allowed


def _row(text: str, rows: Sequence[int], entry: int | None, key: str) -> int | None:
    """The line of an entry's key, or of the entry, or None for the whole file."""
    lines = text.splitlines()
    start = 0 if entry is None else rows[entry]
    end = len(lines) if entry is None or entry + 1 == len(rows) else rows[entry + 1]
    pattern = re.compile(rf'\s*(?:{re.escape(key)}|"{re.escape(key)}")\s*=')
    found = next((n for n, line in enumerate(lines[start:end], start + 1) if key and pattern.match(line)), None)
    return found or (rows[entry] if entry is not None else None)


def _words(error: jsonschema.ValidationError) -> tuple[str, str]:
    """What is wrong and what is allowed, without the schema's jargon."""
    if error.validator == "oneOf" and list(error.absolute_path)[-1:] != ["value"] and len(error.absolute_path) == 2:
        return "a claim has exactly one check", "allowed: engine, arithmetic, cited, record, none"
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        allowed = _allowed(error)
        key = next((key for key in error.instance if key not in allowed), "")
        if key == "verdict":
            return "a claim cannot state its verdict", "remove 'verdict'; the build computes it"
        return f"there is no key '{key}'", nearest(key, allowed)
    if error.validator == "oneOf" and list(error.absolute_path)[-1:] == ["value"]:
        return (
            f"the value {error.instance!r} is not allowed",
            "allowed: a number, [low, high], {at_least=…}, {at_most=…}",
        )
    rule: Any = error.validator_value
    if error.validator == "required" and isinstance(error.instance, dict):
        missing = [key for key in rule if key not in error.instance]
        words = ", ".join(f"'{key}'" for key in missing)
        return (
            f"{words} {'are' if len(missing) > 1 else 'is'} missing",
            f"write {', '.join(f'{key} = …' for key in missing)}",
        )
    if error.validator == "dependentRequired" and isinstance(error.instance, dict):
        asks, missing = next(
            (asks, key)
            for asks, needs in rule.items()
            for key in needs
            if asks in error.instance and key not in error.instance
        )
        return f"'{asks}' needs '{missing}'", f"write {missing} = …"
    key = ".".join(map(str, list(error.absolute_path)[2:]))
    if error.validator == "type":
        shapes = (_SHAPES[one] for one in (rule if isinstance(rule, list) else [rule]))
        return f"'{key}' is {_written(error.instance)}", f"write {' or '.join(shapes)}"
    said = re.sub(r"Decimal\('([^']*)'\)", r"\1", error.message)
    return (f"'{key}': {said}" if key else said), ""


_SHAPES = {
    "string": 'a text in quotes, as "…"',
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a table",
}
"""What a schema asks for, in the words of TOML."""


def _written(value: Any) -> str:
    """A value as its file says it."""
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, dict):
        return f"a table with {', '.join(value) or 'nothing'}"
    return str(value) if isinstance(value, date | time | Decimal) else json.dumps(value, ensure_ascii=False)
