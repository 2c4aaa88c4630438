"""Published measurements: reads the data files, checks them, and turns every row into settings and measurements.

A data file holds tables; a table has columns, rows, defaults and a source. `[common]` and `[source]` of a file serve
all its tables. A column named in `MEASURES` is a published result, any other a setting of the run.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ironlaw import Transformer, model

DATA = Path(__file__).with_name("data")

MEASURES = {
    "tokens_per_s_per_gpu": "time",
    "seconds": "time",
    "tflops_with_recompute": "time",
    "tflops_model": "time",
    "mfu_korthikanti": "time",
    "tokens_per_s": "time",
    "gib": "memory",
    "gb": "memory",
    "allocated_mib": "memory",
    "allocated_bytes": "memory",
    "reserved_mib": "reserved memory",
    "reserved_gib": "reserved memory",
    "reserved_gb": "reserved memory",
    "thousand_mib": "device memory",
    "driver_mib": "device memory",
    "process_mib": "device memory",
    "loaded_mib": "memory of a phase",
    "forward_mib": "memory of a phase",
    "optimizer_mib": "memory of a phase",
    "parameters": "parameters",
    "mwh": "energy",
    "tonnes_co2": "energy",
}
"""Columns that are published results, and the group each belongs to."""

ESTIMATES = ("fitcheck_total_mib", "fitcheck_overhead_mib")
"""Columns that are another calculator's published estimates of the same runs."""

VERIFIED = ("opened", "copy", "from memory of the paper")
"""How a source's figures were read: in the source itself, in a copy of it (the note says which), or not again."""

_SHAPE = ("layers", "hidden", "heads", "vocab", "position")
_SOURCE = ("title", "url", "where", "date", "verified")
_SETTINGS = frozenset(
    {
        "model",
        "name",
        "gpu",
        "devices",
        "batch",
        "sequence",
        "accumulate",
        "global_batch",
        "data",
        "tensor",
        "pipeline",
        "interleave",
        "zero",
        "precision",
        "attention",
        "checkpointing",
        "framework",
        "fused",
        "overlap",
        "network_gbit",
        "sequence_parallel",
        "dropout",
        "optimizer",
        "update",
        "loss",
        "optimizer_in_backward",
        "offload",
        "balanced",
        "device_hours",
        "watts",
        "attention_generation",
        "metrics",
        "overlap_tensor",
        "runtime",
        "accumulation",
        "rms_norm",
        "context_mib",
        "never_fitted",
        "method",
        "rank",
        "targets",
        "quantization",
        "dropout_adapters",
        "adapters",
        "base",
        "autocast",
        "logits",
        "keep_logits",
        "kernels",
        "reentrant",
        "packed",
        "activation_offload",
        "context",
        "experts",
        "architecture",
    }
).union(_SHAPE)


class DataError(ValueError):
    """A data file breaks its format; the message says where."""


@dataclass(frozen=True)
class Source:
    """Where a table comes from. `verified` says whether the figures were read there, in a copy, or are remembered."""

    title: str
    url: str
    where: str
    date: str
    verified: str
    note: str = ""
    used_for: str = ""
    publisher: str = ""


@dataclass(frozen=True)
class Row:
    """One published run: what was run (`settings`), what came out (`measures`, by kind), and the source.

    `shape` is None where no model was trained, or one of an `architecture` that a `Transformer` cannot be. `estimates`
    are what another calculator published for the run, by column.
    """

    name: str
    settings: Mapping[str, Any]
    measures: Mapping[str, float]
    source: Source
    shape: Transformer | None
    estimates: Mapping[str, float] = field(default_factory=dict)

    @property
    def held_out(self) -> bool:
        """Whether the row belongs to the half that later decisions may not look at: the last bit of a hash of the run.

        The rule looks at what was run, neither at the result nor at what is assumed of the run.
        """
        run = f"{self.source.title} | {self.name} | {self.get('accumulate')} | {self.get('global_batch')}"
        return hashlib.sha256(run.encode()).digest()[-1] % 2 == 1

    @property
    def never_fitted(self) -> bool:
        """Whether no constant, factor or spread may ever be fitted to this row, in physics or calibration."""
        return bool(self.get("never_fitted", False))

    def get(self, key: str, default: Any = None) -> Any:
        """A setting, or `default` where the source says nothing."""
        return self.settings.get(key, default)


def load(folder: Path = DATA) -> tuple[Row, ...]:
    """All rows of all data files. Raises `DataError` for an unknown column, a short row or a missing source."""
    return tuple(row for path in sorted(folder.glob("*.toml")) for row in _file(path))


def _file(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        content = tomllib.load(file)
    for number, table in enumerate(content.get("table", [])):
        where = f"{path.name}, table {number + 1}"
        source = _source({**content.get("source", {}), **table}, where)
        defaults = {**content.get("common", {}), **table.get("defaults", {})}
        for values in table["rows"]:
            if len(values) != len(table["columns"]):
                raise DataError(f"{where}: row {values} has {len(values)} values, allowed: {len(table['columns'])}")
            filled = {**defaults, **dict(zip(table["columns"], values, strict=True))}
            yield _row(filled, source, content.get("models", {}), where)


def _source(table: Mapping[str, Any], where: str) -> Source:
    missing = [key for key in _SOURCE if not table.get(key)]
    if missing:
        raise DataError(f"{where}: the source lacks {', '.join(missing)}")
    if table["verified"] not in VERIFIED:
        raise DataError(f"{where}: verified {table['verified']!r} is unknown, allowed: {', '.join(VERIFIED)}")
    optional = {key: table[key] for key in ("note", "used_for", "publisher") if key in table}
    return Source(**{key: table[key] for key in _SOURCE}, **optional)


def _row(filled: Mapping[str, Any], source: Source, models: Mapping[str, Any], where: str) -> Row:
    unknown = set(filled) - _SETTINGS - set(MEASURES) - set(ESTIMATES)
    if unknown:
        raise DataError(f"{where}: column {sorted(unknown)[0]!r} is unknown, allowed: {', '.join(sorted(_SETTINGS))}")
    # Zero stands for "not published": a table has the column, this row does not.
    measures = {key: float(value) for key, value in filled.items() if key in MEASURES and value}
    estimates = {key: float(value) for key, value in filled.items() if key in ESTIMATES}
    settings = {key: value for key, value in filled.items() if key not in MEASURES and key not in ESTIMATES}
    shape = None if {"device_hours", "architecture"} & set(settings) else _shape(settings, models)
    return Row(_name(settings, shape), settings, measures, source, shape, estimates)


def _shape(settings: Mapping[str, Any], models: Mapping[str, Any]) -> Transformer:
    name = settings.get("model", "")
    longest = settings["sequence"]
    if name in models:
        return Transformer(name=name, max_seq=longest, **models[name])
    if name:
        return model(name)
    shape = {key: settings[key] for key in _SHAPE if key in settings}
    size = f"{settings['layers']}x{settings['hidden']}"
    return Transformer(name=f"{size}, {settings['heads']} heads", max_seq=longest, **shape)


def _name(settings: Mapping[str, Any], shape: Transformer | None) -> str:
    if "device_hours" in settings:
        return str(settings["name"])
    name = shape.name if shape else settings["name"]
    parts = [name, f"{settings.get('devices') or _devices(settings)} x {settings['gpu']}"]
    for key, mark in (("tensor", "TP"), ("pipeline", "PP"), ("data", "DP")):
        if settings.get(key, 1) > 1:
            parts.append(f"{mark} {settings[key]}")
    parts.append(f"batch {settings['batch']} x {settings['sequence']}")
    if settings.get("checkpointing", "none") != "none":
        parts.append(f"checkpointing {settings['checkpointing']}")
    if settings.get("method", "full") != "full":
        parts.append(f"{settings['method']} of rank {settings['rank']}")
    for key, mark in (("quantization", "base in"), ("kernels", "kernels")):
        if settings.get(key, "none") != "none":
            parts.append(f"{mark} {settings[key]}")
    return ", ".join(parts)


def _devices(settings: Mapping[str, Any]) -> int:
    return int(settings.get("data", 1) * settings.get("tensor", 1) * settings.get("pipeline", 1))
