"""The claim files: read, checked against their JSON Schema, and turned into claims that know their place."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import jsonschema

from plugins.measured.claims.accounting import ACCOUNTINGS
from plugins.measured.claims.verdict import Stated, Tolerance
from plugins.measured.errors import MeasuredError
from plugins.measured.values.quantities import Format, parse_format
from plugins.shared.errors import Defect, nearest

SCHEMA = Path(__file__).with_name("schema.json")

Evidence = Literal["engine", "pytorch", "record", "cited", "arithmetic", "none"]
EVIDENCE: dict[Evidence, str] = {
    "engine": "engine expression",
    "pytorch": "PyTorch accounting",
    "record": "measured record",
    "cited": "published value",
    "arithmetic": "the source's own arithmetic",
    "none": "no check yet",
}
"""Kinds of evidence in the order in which they are shown, with their words."""


@dataclass(frozen=True)
class Source:
    """A document that claims come from; `sections` are first line and name of each section, in order."""

    id: str
    title: str
    edition: str
    file: str
    sha256: str
    lines: int
    sections: tuple[tuple[int, str], ...]

    def section(self, line: int) -> str:
        """The name of the section that a line stands in."""
        return [name for first, name in self.sections if first <= line][-1]


@dataclass(frozen=True)
class Check:
    """How a claim is checked.

    Attributes:
        evidence: The kind.
        text: The expression, the record, the published value, or the reason why there is no check.
        accounting: The name of the accounting that proves an expression; empty without.
        path: Where the value stands in the record.
        over: The record whose value divides it; empty without.
        work: Title, address and place of the publication; empty without.
    """

    evidence: Evidence
    text: str
    accounting: str = ""
    path: str = ""
    over: str = ""
    work: tuple[str, str, str] = ("", "", "")

    @property
    def asked(self) -> str:
        """What names the answer: the expression, or the value's place in the record."""
        return f"{self.path} of {self.text}" if self.path else self.text


@dataclass(frozen=True)
class Also:
    """The same question under another condition: its check and its label."""

    check: Check
    label: str


@dataclass(frozen=True)
class Claim:
    """One claim of a source.

    Attributes:
        id: Its anchor.
        gist: What is claimed.
        source: The document.
        lines: Where it stands there, at least one line.
        stated: The source's value.
        format: Unit of the value, and how a computed one is printed.
        check: How it is checked.
        also: A qualification, or None.
        tolerance: How far apart the two may be; None without a check.
        note: The explanation; empty without.
        file: The claim file, for messages.
        row: The line of the claim in it.
    """

    id: str
    gist: str
    source: Source
    lines: tuple[int, ...]
    stated: Stated
    format: Format
    check: Check
    also: Also | None
    tolerance: Tolerance | None
    note: str
    file: str
    row: int

    @property
    def section(self) -> str:
        """The section of the source in which the claim first stands."""
        return self.source.section(self.lines[0])

    def defect(self, what: str, fix: str = "") -> Defect:
        """A defect in this claim."""
        return Defect(self.file, self.row, f"claim '{self.id}': {what}", fix)


@dataclass(frozen=True)
class ClaimFiles:
    """All claims, what they refer to, and what is wrong with the files; `broken` are the ids that were left out."""

    sources: tuple[Source, ...] = ()
    tolerances: tuple[Tolerance, ...] = ()
    claims: tuple[Claim, ...] = ()
    defects: tuple[Defect, ...] = ()
    broken: frozenset[str] = frozenset()


def load(folder: Path, root: Path) -> ClaimFiles:
    """Read `sources.toml`, `tolerances.toml` and every other `.toml` file of a folder.

    What is not valid is left out and becomes defects, which name files relative to `root`.
    """
    if not folder.is_dir():
        return ClaimFiles()
    defects: list[Defect] = []
    schema = json.loads(SCHEMA.read_text("utf-8"))

    def read(name: str, kind: str) -> EntryFile:
        path = folder / name
        shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
        chosen = schema if kind == "claim" else {**schema["$defs"][f"{kind}s"], "$defs": schema["$defs"]}
        file = read_entries(path, shown, kind, jsonschema.Draft202012Validator(chosen))
        defects.extend(file.defects)
        return file

    of_sources, of_tolerances = read("sources.toml", "source"), read("tolerances.toml", "tolerance")
    sources = {entry["id"]: _source(entry) for entry, _ in of_sources.entries}
    tolerances = {entry["id"]: _tolerance(entry) for entry, _ in of_tolerances.entries}
    claims: dict[str, Claim] = {}
    broken: set[str] = set()
    for path in sorted(folder.glob("*.toml")):
        if path.name in ("sources.toml", "tolerances.toml"):
            continue
        file = read(path.name, "claim")
        broken |= file.broken
        for entry, row in file.entries:
            if file.source in of_sources.broken or entry.get("tolerance") in of_tolerances.broken:
                broken.add(entry["id"])  # what is wrong there is said there
                continue
            try:
                claim = _claim(entry, row, file, sources, tolerances)
                if claim.id in claims:
                    raise MeasuredError(
                        "the id is taken", f"it is used in {claims[claim.id].file}:{claims[claim.id].row}"
                    )
                claims[claim.id] = claim
            except MeasuredError as error:
                broken.add(entry["id"])
                defects.append(Defect(file.name, row, f"claim '{entry['id']}': {error.what}", error.fix))
    found = tuple(sources.values()), tuple(tolerances.values()), tuple(claims.values())
    return ClaimFiles(*found, tuple(defects), frozenset(broken - claims.keys()))


@dataclass(frozen=True)
class EntryFile:
    """A TOML file: its valid entries with their lines, their document, what is wrong, and with which ids."""

    name: str
    source: str
    entries: tuple[tuple[dict[str, Any], int], ...]
    defects: tuple[Defect, ...]
    broken: frozenset[str] = frozenset()


def read_entries(path: Path, name: str, kind: str, validator: jsonschema.Draft202012Validator) -> EntryFile:
    """The `[[kind]]` entries of a TOML file that are valid, with their lines; `name` is the file's name in messages."""
    try:
        text = path.read_text("utf-8")
        # Decimals keep the digits that the source prints: 6.0 is not 6.
        document = tomllib.loads(text, parse_float=Decimal)
    except FileNotFoundError:
        return EntryFile(name, "", (), (Defect(name, None, "the file is missing", f"list every {kind} there"),))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line = int(found[1]) if found else None
        read = re.findall(r'^id\s*=\s*"([^"]+)"', path.read_text("utf-8", "replace"), re.MULTILINE)
        return EntryFile(name, "", (), (Defect(name, line, f"not valid TOML: {error}"),), frozenset(read))
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
    return error.message, ""


def _source(entry: Mapping[str, Any]) -> Source:
    sections = tuple((int(line), str(name)) for line, name in entry["sections"])
    return Source(**{**entry, "sections": sections})


def _tolerance(entry: Mapping[str, Any]) -> Tolerance:
    within = None if entry["within"] == "printed" else float(entry["within"])
    band = float(entry["band"]) if "band" in entry else None
    return Tolerance(entry["id"], within, band, entry["because"])


def _claim(
    entry: Mapping[str, Any],
    row: int,
    file: EntryFile,
    sources: Mapping[str, Source],
    tolerances: Mapping[str, Tolerance],
) -> Claim:
    """A claim from a valid entry. Raises `MeasuredError` for what a schema cannot see."""
    if file.source not in sources:
        raise MeasuredError(f"there is no source '{file.source}'", nearest(file.source, sources))
    source = sources[file.source]
    lines = tuple(entry["line"]) if isinstance(entry["line"], list) else (int(entry["line"]),)
    for line in lines:
        if not source.sections[0][0] <= line <= source.lines:
            raise MeasuredError(
                f"line {line} is not a line of {source.title}", f"allowed: {source.sections[0][0]} to {source.lines}"
            )
    name = entry.get("tolerance")
    if name is not None and name not in tolerances:
        raise MeasuredError(f"there is no tolerance '{name}'", nearest(name, tolerances))
    also = _also(entry["also"]) if "also" in entry else None
    return Claim(
        id=entry["id"],
        gist=" ".join(entry["gist"].split()),
        source=source,
        lines=lines,
        stated=_stated(entry["value"]),
        format=parse_format(f"{entry['unit']} {entry.get('format', '')}"),
        check=_check(entry),
        also=also,
        tolerance=tolerances[name] if name is not None else None,
        note=" ".join(entry.get("note", "").split()),
        file=file.name,
        row=row,
    )


def _stated(value: Any) -> Stated:
    if isinstance(value, dict):
        bounds = {key: Decimal(number) for key, number in value.items()}
        return Stated(bounds.get("at_least"), bounds.get("at_most"))
    low, high = (Decimal(number) for number in (value if isinstance(value, list) else (value, value)))
    if low > high:
        raise MeasuredError(f"the range {low} to {high} is empty", "write the smaller number first")
    return Stated(low, high)


def _also(entry: Mapping[str, Any]) -> Also:
    return Also(_check(entry), entry["label"])


def _check(entry: Mapping[str, Any]) -> Check:
    if "cited" in entry:
        cited = entry["cited"]
        return Check("cited", str(cited["value"]), work=(cited["title"], cited["url"], cited["where"]))
    if "record" in entry:
        record = entry["record"]
        return Check("record", record["case"], path=record["path"], over=record.get("over", ""))
    if "none" in entry:
        return Check("none", " ".join(entry["none"].split()))
    if "arithmetic" in entry:
        return Check("arithmetic", entry["arithmetic"])
    accounting = entry.get("accounting", "")
    if accounting and accounting not in ACCOUNTINGS:
        raise MeasuredError(f"there is no accounting '{accounting}'", nearest(accounting, ACCOUNTINGS))
    return Check("pytorch" if accounting else "engine", entry["engine"], accounting)


def sections(claims: Sequence[Claim]) -> Iterator[tuple[Source, str, list[Claim]]]:
    """Claims grouped by section, in the order of the documents and their lines."""
    groups: dict[tuple[Source, int], list[Claim]] = {}
    for claim in claims:
        first = max(line for line, _ in claim.source.sections if line <= claim.lines[0])
        groups.setdefault((claim.source, first), []).append(claim)
    order = list(dict.fromkeys(source for source, _ in groups))
    for source, first in sorted(groups, key=lambda group: (order.index(group[0]), group[1])):
        found = sorted(groups[source, first], key=lambda claim: claim.lines[0])
        yield source, source.section(first), found
