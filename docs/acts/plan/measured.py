"""What a reader has measured, beside what the plan says, and what would explain the rest."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from explorable import live
from ironlaw import GB, Setup
from ironlaw.files.facts import Observed
from ironlaw.files.failed import lines
from ironlaw.files.gap import NAMES, Gap, compare

from .choices import READ_AT, mark_of

CHANGED = "The plan has changed since this was read, and what was measured is of the plan before."
"""Said where the controls have moved: of another plan than the one that ran, a comparison says nothing."""
MOST = 6
"""Differences that are told."""


def measured_tables(state: live.State, asked: Setup) -> dict[str, live.Table]:
    """What a message says, the measured figures, and what would explain those outside their bands; none without any."""
    text = str(state.controls["measured"])
    if not text:
        return {}
    gap, message = _gap(asked, text)
    mark = json.loads(text).get(READ_AT)
    since = f"{CHANGED} " if mark is not None and mark != mark_of(state) else ""
    tables = {}
    if message:
        rows = [live.row(what, said) for what, said in message]
        tables["message"] = live.Table(
            f"{since}Your out-of-memory message beside the plan (1 GiB of it is 1.074 GB)",
            live.columns("", "What it says"),
            rows,
        )
    tables |= {
        "measured": live.Table(
            f"{since}{gap.sentence} {gap.standing}".rstrip(),
            live.columns("Yours", "Measured", "Expected", "Band", ""),
            [
                live.row(
                    f"{NAMES[one.name]}{', GB' if _unit(one.name) == GB else ''}",
                    f"{'at least ' * one.at_least}{one.measured / _unit(one.name):.4g}",
                    f"{one.expected / _unit(one.name):.4g}",
                    f"{one.low / _unit(one.name):.4g} to {one.high / _unit(one.name):.4g}",
                    "less so far; the peak was still to come" if one.at_least and one.place == "below" else one.place,
                )
                for one in gap.figures
            ],
        )
    }
    if gap.differences:
        rows = [live.row(one.title, one.sentence) for one in gap.differences[:MOST]]
        tables["differences"] = live.Table(
            f"{since}What would explain it, what explains most first", live.columns("If", "Then"), rows
        )
    return tables


@lru_cache(maxsize=8)
def _gap(asked: Setup, text: str) -> tuple[Gap, tuple[tuple[str, str], ...]]:
    numbers: dict[str, Any] = json.loads(text)
    numbers.pop(READ_AT, None)
    seen = Observed(program="", **numbers)
    return compare(asked, seen), lines(asked, seen)


def _unit(name: str) -> float:
    return GB if name in ("allocated_peak", "device_total") else 1.0
