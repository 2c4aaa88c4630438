"""What a reader has measured, beside what the plan says, and what would explain the rest."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from explorable import live
from ironlaw import GB, Setup
from ironlaw.files.facts import Observed
from ironlaw.files.gap import NAMES, Gap, compare

MOST = 6
"""Differences that are told."""


def measured_tables(state: live.State, asked: Setup) -> dict[str, live.Table]:
    """A table of measured figures, and one of what would explain those outside their bands; none without any."""
    text = str(state.controls["measured"])
    if not text:
        return {}
    gap = _gap(asked, text)
    tables = {
        "measured": live.Table(
            gap.sentence,
            live.columns("Yours", "Measured", "Expected", "Band", ""),
            [
                live.row(
                    f"{NAMES[one.name]}{', GB' if _unit(one.name) == GB else ''}",
                    *(f"{value / _unit(one.name):.4g}" for value in (one.measured, one.expected)),
                    f"{one.low / _unit(one.name):.4g} to {one.high / _unit(one.name):.4g}",
                    one.place,
                )
                for one in gap.figures
            ],
        )
    }
    if gap.differences:
        rows = [live.row(one.title, one.sentence) for one in gap.differences[:MOST]]
        tables["differences"] = live.Table(
            "What would explain it, what explains most first", live.columns("If", "Then"), rows
        )
    return tables


@lru_cache(maxsize=8)
def _gap(asked: Setup, text: str) -> Gap:
    numbers: dict[str, Any] = json.loads(text)
    return compare(asked, Observed(program="", **numbers))


def _unit(name: str) -> float:
    return GB if name in ("allocated_peak", "device_total") else 1.0
