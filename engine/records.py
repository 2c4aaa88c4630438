"""Sourced records: one TOML file per model or accelerator, read when first asked for.

Every file in `engine/data/<kind>/` is one record named by its file name, with a `source` table that holds the URL it
was taken from and the date it was read. Reading is lazy so that importing the engine stays fast in the browser.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from engine.errors import EngineError, one_of

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
            raise one_of("verified", self.verified, VERIFIED)


@cache
def record_names(kind: str) -> tuple[str, ...]:
    """Names of all records of a kind (`"models"`, `"accelerators"`), sorted."""
    from importlib.resources import files

    suffix = ".toml"
    names = (entry.name for entry in files("engine").joinpath("data", kind).iterdir())
    return tuple(sorted(name.removesuffix(suffix) for name in names if name.endswith(suffix)))


@cache
def _read(kind: str, name: str) -> dict[str, Any]:
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("engine").joinpath("data", kind, f"{name}.toml").read_text(encoding="utf-8"))


def read_record(kind: str, name: str) -> dict[str, Any]:
    """A fresh copy of the record `name`. Raises `EngineError` that lists the known names when there is none."""
    if name not in record_names(kind):
        raise one_of(kind.removesuffix("s"), name, record_names(kind))
    return dict(_read(kind, name))


def take_sources(record: dict[str, Any], where: str) -> tuple[Source, ...]:
    """Remove and return the record's `source` (one table or an array of tables). Raises `EngineError` if absent."""
    raw = record.pop("source", None)
    if not raw:
        raise EngineError(f"record {where} has no source; allowed: a [source] table with url and date")
    return tuple(Source(**entry) for entry in (raw if isinstance(raw, list) else [raw]))
