"""Errors of the physics alone, of the physics with calibration, and of a constant utilization, compared with the goals.

Whatever is said of the calibration here is out of sample: each source is predicted by a fit to the other sources.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from ironlaw.calibration import KINDS
from tools.accuracy.baseline import carried_over, hindsight
from tools.accuracy.observations import Observation, observations
from tools.accuracy.report import percentile, report
from tools.accuracy.validation import Judged, leave_one_source_out

NAMES = {"time": "Step time", "allocated": "Memory, allocator's peak", "device memory": "Memory, driver's view"}

ENOUGH = 5
"""A source with at least so many rows has to beat the utilization chosen in hindsight, in half of the cases."""

CARRIED, CHOSEN = "Utilization of other sources", "Utilization in hindsight"
"""The goals that compare the engine with a constant utilization, by how that is chosen."""

COVERAGE = (0.85, 0.95)
"""The share of runs that a 90 % band may cover: with less it is too narrow, with more too wide."""


@dataclass(frozen=True)
class Limits:
    """What the median and the 90th percentile of absolute errors may be."""

    median: float
    p90: float


LIMITS = {"time": Limits(0.08, 0.20), "allocated": Limits(0.05, 0.15), "device memory": Limits(0.05, 0.15)}


@dataclass(frozen=True)
class Figures:
    """Results of some rows of one kind. Errors are absolute and relative to the published value.

    Attributes:
        kind: `"time"`, `"allocated"` or `"device memory"`.
        source: Who published the rows, or empty for all sources together.
        rows: How many.
        physics: Median error of the physics alone.
        physics_p90: Its 90th percentile.
        calibrated: Median error of the expected value, by a calibration that has not seen the row's source.
        calibrated_p90: Its 90th percentile.
        coverage: Share of the published values in the 90 % band.
        coverage_of_sources: The mean of that share over the sources, so that each counts once.
        width: Median of the band's upper end over its lower end.
        carried: Median error with a utilization carried over from other sources; None without one.
        hindsight: Median error with the utilization that suits the source best; None for memory.
    """

    kind: str
    source: str
    rows: int
    physics: float
    physics_p90: float
    calibrated: float
    calibrated_p90: float
    coverage: float
    coverage_of_sources: float
    width: float
    carried: float | None
    hindsight: float | None


@dataclass(frozen=True)
class Goal:
    """What is wanted, what is reached, and where it is missed."""

    name: str
    wanted: str
    reached: str
    met: bool
    where: str = ""


@dataclass(frozen=True)
class Experience:
    """Everything the report says about the calibration."""

    totals: tuple[Figures, ...]
    sources: tuple[Figures, ...]
    goals: tuple[Goal, ...]
    judged: tuple[Judged, ...]


@cache
def experience() -> Experience:
    """The report on the rows as they are."""
    return made_of(observations(report().comparisons))


def made_of(seen: Sequence[Observation]) -> Experience:
    """The report on some rows."""
    totals, sources, judged = [], [], []
    for kind in KINDS:
        lines = _lines(seen, kind)
        if not lines:
            continue
        judged += [line.judged for line in lines]
        totals.append(_figures(kind, "", lines))
        for source in dict.fromkeys(line.judged.observation.source for line in lines):
            sources.append(_figures(kind, source, [x for x in lines if x.judged.observation.source == source]))
    return Experience(tuple(totals), tuple(sources), tuple(_goals(totals, sources)), tuple(judged))


@dataclass(frozen=True)
class _Line:
    """A row, and the errors of both constant utilizations."""

    judged: Judged
    carried: float | None
    hindsight: float | None


def _lines(seen: Sequence[Observation], kind: str) -> list[_Line]:
    judged = leave_one_source_out(seen, kind)
    rows = [j.observation for j in judged]
    none = [None] * len(rows)
    carried, chosen = (carried_over(rows), hindsight(rows)) if kind == "time" else (none, none)
    return [_Line(*line) for line in zip(judged, carried, chosen, strict=True)]


def _figures(kind: str, source: str, lines: Sequence[_Line]) -> Figures:
    physics = [abs(line.judged.physics) for line in lines]
    calibrated = [abs(line.judged.calibrated) for line in lines]
    return Figures(
        kind,
        source,
        len(lines),
        statistics.median(physics),
        percentile(physics, 0.9),
        statistics.median(calibrated),
        percentile(calibrated, 0.9),
        statistics.mean(line.judged.covered for line in lines),
        statistics.mean(_shares(lines).values()),
        statistics.median(line.judged.high / line.judged.low for line in lines),
        _median(line.carried for line in lines),
        _median(line.hindsight for line in lines),
    )


def _shares(lines: Sequence[_Line]) -> dict[str, float]:
    """Of each source, the share of its rows in the band."""
    covered: dict[str, list[bool]] = {}
    for line in lines:
        covered.setdefault(line.judged.observation.source, []).append(line.judged.covered)
    return {source: statistics.mean(shares) for source, shares in covered.items()}


def _median(errors: Iterable[float | None]) -> float | None:
    known = [abs(error) for error in errors if error is not None]
    return statistics.median(known) if known else None


def _goals(totals: Sequence[Figures], sources: Sequence[Figures]) -> Iterable[Goal]:
    for total in totals:
        limits = LIMITS[total.kind]
        yield Goal(
            NAMES[total.kind],
            f"median {limits.median:.0%} and 90th percentile {limits.p90:.0%} at most",
            f"{total.calibrated:.1%} and {total.calibrated_p90:.1%}",
            total.calibrated <= limits.median and total.calibrated_p90 <= limits.p90,
            _above(limits.median, [s for s in sources if s.kind == total.kind]),
        )
    for total in totals:
        yield Goal(
            f"Band: {NAMES[total.kind].lower()}",
            f"covers {COVERAGE[0]:.0%} to {COVERAGE[1]:.0%} of the rows",
            f"{total.coverage:.1%}",
            COVERAGE[0] <= total.coverage <= COVERAGE[1],
            _outside([s for s in sources if s.kind == total.kind]),
        )
    yield from _against_utilization(sources)


_ALONE = "one source only, so nothing is learned from others: physics, and the band declared beforehand"


def _above(limit: float, sources: Sequence[Figures]) -> str:
    if len(sources) == 1:
        return _ALONE
    far = [f"{s.source} {s.calibrated:.1%}" for s in sources if s.calibrated > limit]
    return f"median above: {', '.join(far)}" if far else ""


def _outside(sources: Sequence[Figures]) -> str:
    if len(sources) == 1:
        return _ALONE
    poor = [f"{s.source} {s.coverage:.0%} of {s.rows}" for s in sources if s.coverage < COVERAGE[0]]
    return f"covered less: {', '.join(poor)}" if poor else ""


def _against_utilization(sources: Sequence[Figures]) -> Iterable[Goal]:
    rivals = [(s, s.carried) for s in sources if s.carried is not None]
    lost = [f"{s.source} ({s.calibrated:.1%} against {rival:.1%})" for s, rival in rivals if s.calibrated >= rival]
    yield Goal(
        CARRIED,
        "better in the median on every source",
        f"{len(rivals) - len(lost)} of {len(rivals)} sources",
        not lost,
        f"worse: {', '.join(lost)}" if lost else "",
    )
    large = [(s, s.hindsight) for s in sources if s.hindsight is not None and s.rows >= ENOUGH]
    behind = [f"{s.source} ({s.calibrated:.1%} against {rival:.1%})" for s, rival in large if s.calibrated >= rival]
    yield Goal(
        CHOSEN,
        f"better in the median on at least half of the sources with {ENOUGH} rows or more",
        f"{len(large) - len(behind)} of {len(large)} sources",
        2 * (len(large) - len(behind)) >= len(large),
        f"worse: {', '.join(behind)}" if behind else "",
    )


def plain_experience(made: Experience) -> dict[str, Any]:
    """The report as plain data, for `build/accuracy.json`."""
    return {
        "totals": [asdict(figures) for figures in made.totals],
        "sources": [asdict(figures) for figures in made.sources],
        "goals": [asdict(goal) for goal in made.goals],
        "rows": [
            {
                "kind": j.observation.kind,
                "source": j.observation.source,
                "row": j.observation.comparison.row.name,
                "physics": j.physics,
                "calibrated": j.calibrated,
                "low": j.low,
                "high": j.high,
                "covered": j.covered,
            }
            for j in made.judged
        ],
    }
