"""The claim files: read, checked against their JSON Schema, and turned into claims that know their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from explorable.book import current
from explorable.measured.claims.verdict import Stated, Tolerance
from explorable.measured.entries import Entries, EntryFile
from explorable.measured.errors import MeasuredError
from explorable.measured.values.quantities import Format, parse_format
from explorable.shared.errors import Defect, nearest

SCHEMA = Path(__file__).with_name("schema.json")

Evidence = Literal["engine", "pytorch", "record", "survey", "cited", "arithmetic", "none"]
EVIDENCE: dict[Evidence, str] = {
    "engine": "engine expression",
    "pytorch": "PyTorch accounting",
    "record": "measured record",
    "survey": "survey of published runs",
    "cited": "published value",
    "arithmetic": "the source's own arithmetic",
    "none": "no check yet",
}
"""Kinds of evidence in the order in which they are shown, with their words."""


@dataclass(frozen=True)
class Source:
    """A document that claims come from; `sections` are first line and name of each section, in order.

    `url` is where it can be read, if it is public.
    """

    id: str
    title: str
    edition: str
    file: str
    sha256: str
    lines: int
    sections: tuple[tuple[int, str], ...]
    url: str = ""

    def section(self, line: int) -> str:
        """The name of the section that a line stands in."""
        return [name for first, name in self.sections if first <= line][-1]


@dataclass(frozen=True)
class Check:
    """How a claim is checked.

    Attributes:
        evidence: The kind.
        text: The expression, the record, the quantile of a survey, the published value, or the reason why there is no
            check.
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
        """What names the answer: the expression, the value's place in the record, or the quantile of the survey."""
        if self.evidence == "survey":
            return f"quantile {self.text} of the published runs"
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
    files = Entries(folder, root, SCHEMA)
    of_sources, of_tolerances = files.read("sources.toml", "source"), files.read("tolerances.toml", "tolerance")
    sources = {entry["id"]: _source(entry) for entry, _ in of_sources.entries}
    tolerances = {entry["id"]: _tolerance(entry) for entry, _ in of_tolerances.entries}
    claims: dict[str, Claim] = {}
    broken: set[str] = set()
    for path in sorted(folder.glob("*.toml")):
        if path.name in ("sources.toml", "tolerances.toml"):
            continue
        file = files.read(path.name, "claim")
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
                files.defects.append(Defect(file.name, row, f"claim '{entry['id']}': {error.what}", error.fix))
    found = tuple(sources.values()), tuple(tolerances.values()), tuple(claims.values())
    return ClaimFiles(*found, tuple(files.defects), frozenset(broken - claims.keys()))


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
    if "survey" in entry:
        return Check("survey", str(entry["survey"]))
    if "none" in entry:
        return Check("none", " ".join(entry["none"].split()))
    if "arithmetic" in entry:
        return Check("arithmetic", entry["arithmetic"])
    accounting = entry.get("accounting", "")
    if accounting and accounting not in current().accountings:
        raise MeasuredError(f"there is no accounting '{accounting}'", nearest(accounting, current().accountings))
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
