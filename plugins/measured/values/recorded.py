"""The committed records: loaded by the loader of `gpu_bench`, indexed, and read by dotted path with units."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from gpu_bench.record.load import read
from plugins.measured.errors import MeasuredError, NullError
from plugins.measured.values.quantities import Format, format_number, quantity, show
from plugins.shared.cache import digest
from plugins.shared.errors import Defect, nearest

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
    schema: Mapping[str, Any] = field(repr=False)

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
    def status(self) -> str:
        """How it ended, one of the schema's states; `MEASURED` of `gpu_bench` names those that hold measurements."""
        return str(self.document["status"])

    def at(self, path: str) -> Leaf:
        """The value at a dotted path such as `summary.step_s.median` or `samples.step_s.0`, with its unit.

        Raises `MeasuredError` that names the part that is not there and what is.
        """
        value, schemas = self._walk(path)
        return Leaf(value, _unit(schemas, self.schema))

    def number(self, path: str) -> Leaf:
        """The number at `path`; of what was sampled, the median. Raises `MeasuredError` where there is none."""
        parent, _, last = path.rpartition(".")
        value, schemas = self._walk(parent if last == "median" and parent else path)
        if isinstance(value, Mapping) and {"median", "iqr", "n"} <= value.keys():
            unit = _unit(_descend(schemas, "median", self.schema), self.schema)
            return Leaf(value["median"], unit, float(value["iqr"]), int(value["n"]))
        found = self.at(path)
        if isinstance(found.value, Mapping):
            raise MeasuredError(f"'{path}' is a group of values", f"name one of: {', '.join(found.value)}")
        return found

    def _walk(self, path: str) -> tuple[Any, Sequence[Mapping[str, Any]]]:
        """What stands at a path, and the schemas that describe it."""
        if _parts(path)[0] == "withheld":
            raise MeasuredError(f"'{path}' was measured and refused: no page shows it", "measure the case again")
        value: Any = self.document
        schemas: Sequence[Mapping[str, Any]] = [self.schema]
        done: list[str] = []
        for part in _parts(path):
            where = ".".join(done) or "the record"
            value = _step(value, part, where, self.status)
            schemas = _descend(schemas, part, self.schema)
            done.append(part)
        return value, schemas

    def describes(self, path: str) -> bool:
        """Whether the schema knows `path`, whatever this record holds there."""
        schemas: Sequence[Mapping[str, Any]] = [self.schema]
        for part in _parts(path):
            schemas = _descend(schemas, part, self.schema)
        return bool(schemas)


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
            raise MeasuredError(f"'{name}' is not a record", "write suite/case, e.g. 'smoke/gpt2-nano-fp32-cpu'")
        if suite not in self.suites:
            fix = (
                nearest(suite, self.suites)
                if self.suites
                else f"measure it with 'python -m gpu_bench run --suite {suite}'"
            )
            raise MeasuredError(f"no record in suite '{suite}'", fix)
        matches = [record for record in self.select(suite) if rest in (record.case, record.file.stem)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            names = ", ".join(f"{suite}/{record.file.stem}" for record in matches)
            raise MeasuredError(f"'{name}' was measured on several devices", f"name one: {names}")
        known = {record.case for record in self.select(suite)} | {record.file.stem for record in self.select(suite)}
        raise MeasuredError(f"no record '{rest}' in suite '{suite}'", nearest(rest, known))


def load(folder: Path, schema_file: Path, root: Path) -> Records:
    """Read every `<suite>/<case>--<device>.json` below `folder`, by the loader of `gpu_bench`, which checks it.

    A file that is not valid is left out and becomes defects, which name files relative to `root`.

    Args:
        folder: Where the records are.
        schema_file: The JSON Schema that says what each value is and in which unit.
        root: The folder of the project.
    """
    if not schema_file.is_file():
        return Records(folder, (), (Defect(_name(schema_file, root), None, "the schema of the records is missing"),))
    frozen_schema = _freeze(json.loads(schema_file.read_text("utf-8")))
    records: list[Record] = []
    defects: list[Defect] = []
    for file in sorted(folder.rglob("*.json")):
        document, faults = _checked(file, folder, _content(file))
        defects.extend(Defect(_name(file, root), None, fault, _REMEDY) for fault in faults)
        if document is not None:
            path = PurePosixPath(file.relative_to(folder).as_posix())
            records.append(Record(path, _freeze(document), frozen_schema))
    return Records(folder, tuple(records), tuple(defects))


def _content(file: Path) -> str:
    """A hash of what the file holds; why it cannot be read is said by who reads it next."""
    try:
        return digest(file.read_bytes())
    except OSError:
        return ""


@cache
def _checked(file: Path, folder: Path, _content: str) -> tuple[dict[str, Any] | None, list[str]]:
    """What the loader of `gpu_bench` says of a file with this content: a server asks before every rebuild."""
    return read(file, folder)


_REMEDY = "measure it again; a record is never edited by hand"


def _name(file: Path, root: Path) -> str:
    """How a message names a file."""
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else str(file)


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


def _alternatives(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """`schema` and everything it refers to or combines, references resolved within the document."""
    yield schema
    if "$ref" in schema:
        target: Any = root
        for part in str(schema["$ref"]).removeprefix("#").strip("/").split("/"):
            target = target[part] if part else target
        yield from _alternatives(target, root)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for option in schema.get(keyword, ()):
            yield from _alternatives(option, root)


def _descend(schemas: Sequence[Mapping[str, Any]], part: str, root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas of the member `part`, one for each alternative that has it; none where nothing describes it."""
    found: list[Mapping[str, Any]] = []
    for option in (one for schema in schemas for one in _alternatives(schema, root)):
        members = [option.get("properties", {}).get(part), option.get("additionalProperties"), option.get("items")]
        found += [member for member in members if isinstance(member, Mapping)][:1]
    return found


def _unit(schemas: Sequence[Mapping[str, Any]], root: Mapping[str, Any]) -> str | None:
    """The unit that the schemas state."""
    options = (option for schema in schemas for option in _alternatives(schema, root))
    return next((str(option["unit"]) for option in options if "unit" in option), None)
