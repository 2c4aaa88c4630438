"""A short way to write the tables of an act."""

from __future__ import annotations

from explorable.live.runtime.contract import Column

KEYS = "abcdefg"


def columns(*titles: str) -> tuple[Column, ...]:
    """A text column and numeric ones, each given as `Label|unit`; their keys are a, b, c and so on."""
    parts = [title.partition("|") for title in titles]
    return tuple(Column(KEYS[i], label, unit, numeric=i > 0) for i, (label, _, unit) in enumerate(parts))


def row(*cells: str) -> dict[str, str]:
    """A row for `columns`."""
    return dict(zip(KEYS, cells, strict=False))
