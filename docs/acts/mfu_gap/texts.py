"""How numbers and rows of tables are written."""

from __future__ import annotations

from engine import GB
from plugins import live


def gb(size: float) -> str:
    """Bytes as GB with one decimal."""
    return f"{size / GB:,.1f}"


def percent(share: float) -> str:
    """A share as whole percent."""
    return f"{100 * share:.0f}"


def columns(*titles: str) -> tuple[live.Column, ...]:
    """A text column and numeric ones, each given as `Label|unit`; their keys are a, b, c and so on."""
    parts = [title.partition("|") for title in titles]
    keys = "abcdefg"
    return tuple(live.Column(keys[i], label, unit, numeric=i > 0) for i, (label, _, unit) in enumerate(parts))


def row(*cells: str) -> dict[str, str]:
    """A row for `columns`."""
    return dict(zip("abcdefg", cells, strict=False))
