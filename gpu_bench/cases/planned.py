"""What a case that times several things plans to time, known before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PlannedPoint:
    """One of the things that a case times: what its record says of it whatever the machine measures."""

    label: str  # Its name in tables
    settings: Mapping[str, str | int | bool | None]  # What tells it from the others
    # Work of one round by name, `flops`, `bytes` or `tokens`; None where the case alone does not tell how much. A point
    # has no other work
    work: Mapping[str, int | None]
