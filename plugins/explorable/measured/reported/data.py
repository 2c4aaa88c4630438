"""The files of reported numbers: read strictly, so that no number stands on a page without its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explorable.measured.entries import Entries
from explorable.measured.errors import MeasuredError
from explorable.measured.values.quantities import Format, parse_format
from explorable.shared.errors import Defect, nearest

SCHEMA = Path(__file__).with_name("schema.json")
ROWS, SOURCES = "rows.toml", "sources.toml"
READ = {"original": "read in the original", "excerpt": "read in an excerpt", "copy": "read in a copy"}


@dataclass(frozen=True)
class Source:
    """Who published, where in it the figures stand, its date, in what it was read, and what to know of it."""

    id: str
    title: str
    url: str
    where: str
    date: str
    read: str
    note: str = ""

    @property
    def sentence(self) -> str:
        """All of it in words."""
        return f"{self.title}: {self.where}, {self.date}, {READ[self.read]}" + (f"; {self.note}" if self.note else "")


@dataclass(frozen=True)
class Reported:
    """One published number.

    Attributes:
        value: In the unit of `format`.
        engine: The expression that asks the engine for the same; empty where it has no answer.
        file: Its file, for messages, and `line` in it.
    """

    id: str
    group: str
    what: str
    settings: str
    value: float
    format: Format
    source: Source
    engine: str
    file: str
    line: int


@dataclass(frozen=True)
class ReportedRows:
    """All reported numbers, and what is wrong with the files."""

    rows: tuple[Reported, ...] = ()
    defects: tuple[Defect, ...] = ()

    def select(self, group: str, names: tuple[str, ...]) -> list[Reported]:
        """The rows of a group, or of `all` groups; with names, those rows in that order. Raises `MeasuredError`."""
        groups = dict.fromkeys(row.group for row in self.rows)
        if group not in (*groups, "all"):
            raise MeasuredError(f"there is no group '{group}' of reported numbers", nearest(group, [*groups, "all"]))
        found = {row.id: row for row in self.rows if group in (row.group, "all")}
        for name in names:
            if name not in found:
                raise MeasuredError(f"group '{group}' has no reported number '{name}'", nearest(name, found))
        return [found[name] for name in names] or list(found.values())


def load(folder: Path, root: Path) -> ReportedRows:
    """Read `sources.toml` and `rows.toml` of a folder; what is not valid is left out and becomes defects.

    So does any other file of TOML there, which nothing would read.
    """
    if not folder.is_dir():
        return ReportedRows()
    files = Entries(folder, root, SCHEMA)
    published = files.read(SOURCES, "source")
    sources = {entry["id"]: Source(**entry) for entry, _ in published.entries}
    rows: dict[str, Reported] = {}
    file, defects = files.read(ROWS, "reported"), files.defects
    for other in sorted(folder.glob("*.toml")):
        if other.name not in (ROWS, SOURCES):
            name = file.name.replace(ROWS, other.name)
            defects.append(Defect(name, None, "nothing reads it", f"write it into {ROWS} and {SOURCES} beside it"))
    for entry, line in file.entries:
        if entry["source"] in published.broken:
            continue  # what is wrong there is said there
        try:
            row = _row(entry, sources, file.name, line)
            if row.id in rows:
                raise MeasuredError("the id is taken", f"it is used in line {rows[row.id].line}")
            rows[row.id] = row
        except MeasuredError as error:
            defects.append(Defect(file.name, line, f"reported number '{entry['id']}': {error.what}", error.fix))
    cited = {row.source.id for row in rows.values()}
    if not defects:
        fix = f"cite it in {ROWS}, or remove it"
        idle = ((entry["id"], line) for entry, line in published.entries if entry["id"] not in cited)
        defects += [Defect(published.name, line, f"nothing cites source '{name}'", fix) for name, line in idle]
    return ReportedRows(tuple(rows.values()), tuple(defects))


def _row(entry: Mapping[str, Any], sources: Mapping[str, Source], file: str, line: int) -> Reported:
    if entry["source"] not in sources:
        raise MeasuredError(f"there is no source '{entry['source']}'", nearest(entry["source"], sources))
    form = parse_format(f"{entry['unit']} {entry['format']}")
    words = {key: str(entry[key]) for key in ("id", "group", "what", "settings")}
    value, engine = float(entry["value"]), str(entry.get("engine", ""))
    return Reported(
        **words, value=value, format=form, source=sources[entry["source"]], engine=engine, file=file, line=line
    )
