"""How numbers are written."""

from __future__ import annotations

from ironlaw import GB


def gb(size: float) -> str:
    """Bytes as GB with one decimal."""
    return f"{size / GB:,.1f}"


def percent(share: float) -> str:
    """A share as whole percent."""
    return f"{100 * share:.0f}"
