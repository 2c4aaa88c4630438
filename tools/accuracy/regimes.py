"""Errors and coverage of times by regime: whose code on which card, how many devices, how long a step, how full a card.

A band that covers nine runs in ten of all may still miss most of a kind of run that few sources published.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from tools.accuracy.predict import published_bytes
from tools.accuracy.report import percentile
from tools.accuracy.rows import MEASURES
from tools.accuracy.setups import row_setup
from tools.accuracy.validation import Judged

CODES = {"megatron": "kernels fused by hand", "torch": "PyTorch"}
"""Whose kernels a row's framework has, as its table says it."""
DEVICES = ((1, "1 device"), (8, "2 to 8"), (64, "9 to 64"), (255, "65 to 255"), (10**9, "256 and more"))
SECONDS = ((0.5, "under 0.5 s"), (2.0, "0.5 to 2 s"), (10.0, "2 to 10 s"), (float("inf"), "10 s and more"))
FULLNESS = ((0.98, "card full to 98 % at most"), (float("inf"), "card fuller than 98 %"))
"""Upper ends of the bins, with their names. What is over 98 % was seen to be slow in runs of one source."""


@dataclass(frozen=True)
class Regime:
    """Times of one kind of runs, each predicted by a calibration that has not seen its source.

    Attributes:
        what: The kind.
        rows: How many.
        sources: Of how many sources.
        physics: Median of the physics' errors, with sign.
        physics_p90: 90th percentile of their size.
        calibrated: Median size of the expected value's errors.
        calibrated_p90: Its 90th percentile.
        coverage: Share of the published times inside the 90 % band.
    """

    what: str
    rows: int
    sources: int
    physics: float
    physics_p90: float
    calibrated: float
    calibrated_p90: float
    coverage: float


def regimes(judged: Iterable[Judged]) -> tuple[Regime, ...]:
    """Times by code and card, by devices, by devices and seconds, and by how full cards were; none without a row."""
    times = [j for j in judged if j.observation.kind == "time"]
    cells = [(who, list(rows)) for who, rows in groupby(sorted(times, key=code_and_card), code_and_card)]
    cells += [(many, [j for j in times if _bin(devices(j), DEVICES) == many]) for _, many in DEVICES]
    for _, many in DEVICES:
        for _, long in SECONDS:
            both = [j for j in times if (_bin(devices(j), DEVICES), _bin(seconds(j), SECONDS)) == (many, long)]
            cells.append((f"{many}, {long}", both))
    known = [(j, share) for j in times if (share := fullness(j)) is not None]
    cells += [(what, [j for j, share in known if _bin(share, FULLNESS) == what]) for _, what in FULLNESS]
    return tuple(_regime(what, rows) for what, rows in cells if rows)


def code_and_card(j: Judged) -> str:
    """Whose code ran on which card."""
    c = row_setup(j.observation.comparison.row)
    return f"{CODES[c.framework.name]} on {c.chip.title}"


def devices(j: Judged) -> float:
    """Devices of a row's run."""
    return float(row_setup(j.observation.comparison.row).devices)


def seconds(j: Judged) -> float:
    """Published seconds of a row's step."""
    return j.observation.comparison.published


def fullness(j: Judged) -> float | None:
    """Share of a card's memory that the driver showed as taken; None where the source does not say."""
    row = j.observation.comparison.row
    shown = [published_bytes(kind, value) for kind, value in row.measures.items() if MEASURES[kind] == "device memory"]
    return shown[0] / row_setup(row).chip.memory_bytes if shown else None


def _bin(value: float, ends: Iterable[tuple[float, str]]) -> str:
    return next(name for end, name in ends if value <= end)


def _regime(what: str, rows: Sequence[Judged]) -> Regime:
    physics = [j.physics for j in rows]
    calibrated = [abs(j.calibrated) for j in rows]
    return Regime(
        what,
        len(rows),
        len({j.observation.source for j in rows}),
        statistics.median(physics),
        percentile([abs(error) for error in physics], 0.9),
        statistics.median(calibrated),
        percentile(calibrated, 0.9),
        statistics.mean(j.covered for j in rows),
    )
