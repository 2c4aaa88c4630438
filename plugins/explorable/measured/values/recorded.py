"""The committed records: loaded by the book's reader, indexed, read by dotted path with units, put in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from explorable.book import Reader, current
from explorable.measured.errors import MeasuredError, NullError
from explorable.measured.values.quantities import Format, format_number, quantity, show
from explorable.shared.errors import Defect, nearest
from explorable.shared.yaml_text import LONGEST_INTEGER

STATUS = {
    "ok": "measured",
    "oom": "out of memory",
    "error": "ended with an error",
    "unsupported": "not possible on this device",
    "timeout": "ended by the time limit",
    "throttled": "throttled while measuring",
    "unsettled": "measured, not steady",
    "recompiled": "measured, compiled meanwhile",
    "impossible": "refused: it contradicts itself",
}
"""How a record's status is said to a reader, besides the book's own."""
LARGEST = 32 * 2**20
"""Bytes of a file that is still read as a record."""
_INDEX = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True)
class Leaf:
    """One value of a record with the unit its schema states; `unit` is None where the schema states none.

    Of a quantity that was sampled, `value` is the median, `iqr` its interquartile range in the unit, and `n` the number
    of samples.
    """

    value: Any
    unit: str | None
    iqr: float | None = None
    n: int | None = None

    def quantity(self) -> Any:
        """The value as a quantity. Raises `MeasuredError` when it is not a number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            kind = "null (it was not measured)" if self.value is None else f"{type(self.value).__name__}, not a number"
            raise MeasuredError(f"the value is {kind}")
        return quantity(self.value, self.unit or "1")

    def spread(self, form: Format) -> str:
        """Half the interquartile range in the unit and number format of the median; empty for a single value."""
        return "" if self.iqr is None else show(quantity(self.iqr / 2, self.unit or "1"), form).text

    def sampled(self, form: Format) -> str:
        """`median of n = 60, interquartile range 1.2 ms`; empty for a single value."""
        if self.iqr is None or self.n is None:
            return ""
        width = show(quantity(self.iqr, self.unit or "1"), form).glued
        return f"median of n = {format_number(self.n, ',d')}, interquartile range {width}"


@dataclass(frozen=True)
class Record:
    """One measured case, read only. `file` is the path below the folder of records: `smoke/case--device.json`."""

    file: PurePosixPath
    document: Mapping[str, Any]

    @property
    def suite(self) -> str:
        """The folder of the record."""
        return self.file.parts[0]

    @property
    def case(self) -> str:
        """The name of the case, without the device."""
        return self.file.stem.rpartition("--")[0]

    @property
    def device(self) -> str:
        """The device's slug, as in the name of the file."""
        return self.file.stem.rpartition("--")[2]

    @property
    def device_name(self) -> str:
        """The device as its driver calls it, or its slug."""
        return _shown(self.document["device"]["name"]) or self.device

    @property
    def status(self) -> str:
        """How it ended, one of the schema's states; the book's reader names those that hold measurements."""
        return str(self.document["status"])

    @property
    def day(self) -> str:
        """The day of the measurement, `2025-11-20`."""
        return _shown(self.document["provenance"]["finished"])[:10]

    @property
    def source(self) -> str:
        """Device, day and code version: `NVIDIA H200, 2025-11-20, commit 1a2b3c4`."""
        provenance = self.document["provenance"]
        commit = _shown(provenance["git_commit"])
        version = f", commit {commit[:7]}{' with local changes' if provenance['dirty'] else ''}" if commit else ""
        return f"{self.device_name}, {self.day}{version}"

    def at(self, path: str) -> Any:
        """What stands at a dotted path such as `summary.step_s.median` or `samples.step_s.0`.

        Raises `MeasuredError` that names the part that is not there and what is.
        """
        parts = _parts(path)
        if parts[0] == "withheld":
            raise MeasuredError(f"'{path}' was measured and refused: no page shows it", "measure the case again")
        value: Any = self.document
        for position, part in enumerate(parts):
            value = _step(value, part, ".".join(parts[:position]) or "the record", self.status)
        return value

    def number(self, path: str) -> Leaf:
        """The value at `path` with its unit; of what was sampled, the median. Raises `MeasuredError` for a group."""
        group = path.strip().removesuffix(".median")
        value = self.at(group)
        if isinstance(value, Mapping) and {"median", "iqr", "n"} <= value.keys():
            return Leaf(value["median"], _unit(f"{group}.median"), float(value["iqr"]), int(value["n"]))
        if group != path.strip():
            value = self.at(path)
        if isinstance(value, Mapping):
            raise MeasuredError(f"'{path}' is a group of values", f"name one of: {', '.join(value)}")
        return Leaf(value, _unit(path))


def ended(status: str) -> str:
    """How a run ended, in words; empty where it simply was measured."""
    return "" if status == "ok" else {**STATUS, **current().statuses}.get(status, status)


def command(suite: str, case: str = "") -> str:
    """The command that measures a suite, or one of its cases."""
    return current().records.command(suite, case)


def plan() -> Mapping[str, Sequence[str]]:
    """Suite -> its cases: what can be measured."""
    return current().records.plan


@dataclass(frozen=True)
class Records:
    """Every valid record below one folder, and the defects of the others."""

    folder: Path
    records: tuple[Record, ...]
    defects: tuple[Defect, ...] = ()

    @property
    def suites(self) -> tuple[str, ...]:
        """The names of the suites that have a record."""
        return tuple(sorted({record.suite for record in self.records}))

    @property
    def devices(self) -> frozenset[str]:
        """The slugs of the devices that have a record."""
        return frozenset(record.device for record in self.records)

    def select(self, suite: str, *, case: str | None = None, device: str | None = None) -> tuple[Record, ...]:
        """The records of a suite, optionally of one case or one device only, ordered by file name."""
        return tuple(
            record
            for record in self.records
            if record.suite == suite and case in (None, record.case) and device in (None, record.device)
        )

    def one(self, name: str) -> Record:
        """The record that `suite/case` or `suite/case--device` names.

        Raises `MeasuredError` when there is none, or when several devices have one and the name says no device.
        """
        suite, slash, rest = name.strip().strip("/").partition("/")
        if not slash:
            raise MeasuredError(f"'{name}' is not a record", "write suite/case, e.g. 'line/counters-2'")
        known = self.select(suite)
        if not known:
            told = command(suite) or f"{suite}/<case>--<device>.json in {self.folder.name}"
            fix = nearest(suite, self.suites) if self.suites else f"measure it with '{told}'"
            raise MeasuredError(f"no record in suite '{suite}'", fix)
        matches = [record for record in known if rest in (record.case, record.file.stem)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            names = ", ".join(f"{suite}/{record.file.stem}" for record in matches)
            raise MeasuredError(f"'{name}' was measured on several devices", f"name one: {names}")
        names_known = {record.case for record in known} | {record.file.stem for record in known}
        raise MeasuredError(f"no record '{rest}' in suite '{suite}'", nearest(rest, names_known))


def load(folder: Path, root: Path) -> Records:
    """Read every `<suite>/<case>--<device>.json` below `folder`, by the book's reader, which checks it.

    A file that is not valid is left out and becomes defects, which name files relative to `root`.
    """
    records: list[Record] = []
    defects: list[Defect] = []
    for file in sorted(folder.rglob("*.json")):
        try:
            # A link leads out of the folder, and to what has no end, as a device has none.
            if file.is_symlink() or not file.is_file():
                raise OSError(0, "a record is a file, no link and no device")
            if (size := file.stat().st_size) > LARGEST:
                raise OSError(0, f"{size:,} B are too many for a record; allowed: {LARGEST:,} B")
            record, faults = _record(current().records, file.read_bytes(), file.relative_to(folder).as_posix())
        except OSError as error:
            record, faults = None, (f"it cannot be read: {error.strerror}",)
        name = file.relative_to(root).as_posix() if file.is_relative_to(root) else str(file)
        defects += [Defect(name, None, fault, "measure it again; a record is never edited by hand") for fault in faults]
        records += [] if record is None else [record]
    return Records(folder, tuple(records), tuple(defects))


@cache
def _record(reader: Reader, text: bytes, place: str) -> tuple[Record | None, tuple[str, ...]]:
    """The record in a file with this content, or its faults: a server asks before every rebuild."""
    document, faults = reader.checked(text, place)
    if document is not None and not _fits(document):
        return None, (*faults, f"a number has more than {LONGEST_INTEGER} bits")
    return None if document is None else Record(PurePosixPath(place), _freeze(document)), tuple(faults)


def _fits(value: Any) -> bool:
    """Whether every whole number in parsed JSON is one that can be calculated with."""
    if isinstance(value, dict | list):
        return all(map(_fits, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, int) or value.bit_length() <= LONGEST_INTEGER


def _shown(value: Any) -> str:
    """A text of a record as it stands in a line, without marks that turn the line around; "" for anything else."""
    return "".join(letter for letter in value if letter.isprintable()) if isinstance(value, str) else ""


def _freeze(value: Any) -> Any:
    """A read-only view of parsed JSON."""
    if isinstance(value, dict):
        return MappingProxyType({key: _freeze(item) for key, item in value.items()})
    if isinstance(value, list):
        return tuple(_freeze(item) for item in value)
    return value


def _parts(path: str) -> list[str]:
    """The names and numbers of a path; `a[0].b` and `a.0.b` are the same."""
    return _INDEX.sub(r".\1", path.strip()).split(".")


def _step(value: Any, part: str, where: str, status: str) -> Any:
    """One step along a path through a document."""
    if value is None:
        raise NullError(f"no '{part}' in {where}", f"{where} is null, the run's status is '{status}'")
    if isinstance(value, Mapping):
        if part not in value:
            raise MeasuredError(f"no '{part}' in {where}", nearest(part, value))
        return value[part]
    if isinstance(value, tuple):
        if not part.isdigit() or int(part) >= len(value):
            raise MeasuredError(f"no item '{part}' in {where}", f"it has {len(value)} items, counted from 0")
        return value[int(part)]
    raise MeasuredError(f"no '{part}' in {where}", f"{where} is a single value")


def described(path: str) -> bool:
    """Whether the schema knows `path`, whatever a record holds there."""
    return bool(_schemas(current().records, path))


@cache
def _schemas(reader: Reader, path: str) -> tuple[Mapping[str, Any], ...]:
    """The schemas that describe what stands at a path, one for each alternative that has it."""
    whole = reader.schema()
    found: list[Mapping[str, Any]] = [whole]
    for part in _parts(path):
        options = (option for one in found for option in _alternatives(one, whole))
        found = [member for option in options if (member := _member(option, part)) is not None]
    return tuple(found)


def _member(part: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """What a part of the schema says of its member `name`, an item of a list included."""
    said = (part.get("properties", {}).get(name), part.get("additionalProperties"), part.get("items"))
    return next((one for one in said if isinstance(one, Mapping)), None)


def _alternatives(part: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A part of the schema and everything it refers to or combines, references resolved."""
    yield part
    if "$ref" in part:
        target: Any = whole
        for name in str(part["$ref"]).removeprefix("#").strip("/").split("/"):
            target = target[name] if name else target
        yield from _alternatives(target, whole)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for option in part.get(keyword, ()):
            yield from _alternatives(option, whole)


def _unit(path: str) -> str | None:
    """The unit that the schema states for what stands at a path."""
    reader = current().records
    options = (option for one in _schemas(reader, path) for option in _alternatives(one, reader.schema()))
    return next((str(option["unit"]) for option in options if "unit" in option), None)
