"""The engine's constants that are not laws of nature: their values from the engine, their origin from a data file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

ORIGINS = Path(__file__).with_name("constants.toml")


@dataclass(frozen=True)
class Constant:
    """Constants of one origin: names, values as shown, origin, and the rows of the report that chose them."""

    name: str
    value: str
    origin: str
    rows: str


def constants() -> tuple[Constant, ...]:
    """All of them, in the order of the file."""
    with ORIGINS.open("rb") as file:
        return tuple(_constant(entry) for entry in tomllib.load(file)["constant"])


def _constant(entry: Mapping[str, Any]) -> Constant:
    values = [_show(_read(path), entry.get("scale", 1)) for path in entry["of"]]
    names = [path.partition(".")[2] for path in entry["of"]]
    text = f"{'; '.join(values)} {entry.get('unit', '')}".strip()
    return Constant(", ".join(names), text, entry["origin"], entry.get("rows", "none"))


def _read(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(f"ironlaw.{module}"), name)


def _show(value: Any, scale: float) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_show(entry, scale)}" for key, entry in value.items())
    if isinstance(value, tuple):
        return " and ".join(_show(entry, scale) for entry in value)
    shown = value * scale
    return f"{shown:,.0f}" if shown >= 1000 else f"{shown:.3g}"
