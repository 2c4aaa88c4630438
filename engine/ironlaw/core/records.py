"""Sourced records in TOML, read when first asked for.

All records of a kind stand in `ironlaw/data/<kind>.toml`, a table each. Every record has a `source` table that holds
the URL it was taken from and the date it was read. Reading is lazy, record by record, so that the engine starts fast in
the browser.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ironlaw.core.errors import MISSING, EngineError

DATA = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data")  # noqa: PTH118, PTH120
"""Where the records lie. `pathlib` and `importlib.resources` would take longer to import than a record to read."""

VERIFIED = ("", "opened", "memory")
"""How a source's figure was obtained; see `Source.verified`."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a record's figures come from.

    Attributes:
        url: Address of the page.
        date: ISO date of the record: when the page was read, or when the figure was written down from memory.
        note: A remark.
        verified: `"opened"` when the figure was read on the page or a stored copy of it, `"memory"` when it is
            remembered from there, or empty where nobody noted which.
    """

    url: str
    date: str
    note: str = ""
    verified: str = ""

    def __post_init__(self) -> None:
        if self.verified not in VERIFIED:
            raise EngineError("verified", self.verified, VERIFIED)


@cache
def _texts(kind: str) -> dict[str, str]:
    """The text of each record of a kind. To parse one takes a small part of the time that all of them would."""
    found: dict[str, str] = {}
    with open(os.path.join(DATA, kind) + ".toml", encoding="utf-8") as file:  # noqa: PTH118, PTH123
        for table in ("\n" + file.read()).split("\n[")[1:]:
            path = table.lstrip("[").partition("]")[0]
            name = path.split('"')[1] if path.startswith('"') else path.partition(".")[0]
            found[name] = f"{found.get(name, '')}[{table}\n"
    return found


@cache
def record_names(kind: str) -> tuple[str, ...]:
    """Names of all records of a kind (`"models"`, `"accelerators"`, `"links"`, `"storage"`), sorted."""
    return tuple(sorted(_texts(kind)))


@cache
def _read(kind: str, name: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(_texts(kind)[name])[name]  # type: ignore[no-any-return]


def read_record(kind: str, name: str) -> dict[str, Any]:
    """A fresh copy of the record `name`. Raises `EngineError` that lists the known names when there is none."""
    if name not in record_names(kind):
        raise EngineError(kind.removesuffix("s"), name, record_names(kind))
    return dict(_read(kind, name))


def origin(entry: Mapping[str, Any]) -> Source:
    """Where one figure of a record comes from."""
    return Source(entry["url"], entry["date"], entry.get("note", ""), entry.get("verified", ""))


def take_sources(record: dict[str, Any], where: str) -> tuple[Source, ...]:
    """Remove and return the record's `source` (one table or an array of tables). Raises `EngineError` if absent."""
    raw = record.pop("source", None)
    if not raw:
        raise EngineError("source", MISSING, "a table with url and date", {"record": where})
    return tuple(Source(**entry) for entry in (raw if isinstance(raw, list) else [raw]))
