"""The report: error of every row, median and 90th percentile of every group, the worst rows and why they are."""

from __future__ import annotations

import statistics
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tools.accuracy.constants import Constant, constants
from tools.accuracy.predict import Comparison, compare
from tools.accuracy.rows import load

REASONS = Path(__file__).with_name("reasons.toml")
WORST = 5


@dataclass(frozen=True)
class Target:
    """What a group's absolute errors may be: the median and the 90th percentile."""

    median: float
    p90: float


TARGETS = {"time": Target(0.10, 0.25), "memory": Target(0.08, 0.20), "device memory": Target(0.08, 0.20)}
"""Groups with an acceptance target. Memory has one target, whoever reported it."""

GROUPS = {
    "time": "Step time",
    "memory": "Memory, allocator's peak",
    "device memory": "Memory, driver's view",
    "parameters": "Parameters",
    "energy": "Energy and carbon",
}
"""Groups in the order of the report, with their names."""

EXACT = ("parameters",)
"""Groups in which anything but equality is a defect."""

HALVED = ("time", "device memory")
"""Groups with enough rows to hold half of them out (`Row.held_out`)."""


@dataclass(frozen=True)
class Summary:
    """Errors of a group: how many, absolute median and 90th percentile, and the median with its sign."""

    group: str
    count: int
    median: float
    p90: float
    signed: float

    @property
    def met(self) -> bool | None:
        """Whether the group meets its target; None when it has none."""
        target = TARGETS.get(self.group)
        return None if target is None else self.median <= target.median and self.p90 <= target.p90


@dataclass(frozen=True)
class Report:
    """Everything the report says."""

    comparisons: tuple[Comparison, ...]
    groups: tuple[Summary, ...]
    halves: tuple[tuple[str, Summary], ...]
    sources: tuple[tuple[str, Summary], ...]
    constants: tuple[Constant, ...]

    def of(self, group: str) -> tuple[Comparison, ...]:
        """The comparisons of a group."""
        return tuple(c for c in self.comparisons if c.group == group)

    def worst(self, group: str, count: int = WORST) -> tuple[Comparison, ...]:
        """The rows of a group with the largest error, the largest first."""
        return tuple(sorted(self.of(group), key=lambda c: -abs(c.error))[:count])


@cache
def report() -> Report:
    """Predict every row. The result is kept, because a page asks several times."""
    comparisons = tuple(c for row in load() for c in compare(row))
    groups = tuple(summarize(group, (c for c in comparisons if c.group == group)) for group in GROUPS)
    halves = tuple(
        (name, summarize(group, (c for c in comparisons if (c.group, c.row.held_out) == (group, held_out))))
        for group in HALVED
        for name, held_out in (("open half", False), ("half held out from now on", True))
    )
    titles = dict.fromkeys((c.group, c.row.source.title) for c in comparisons)
    sources = tuple(
        (title, summarize(group, (c for c in comparisons if (c.group, c.row.source.title) == (group, title))))
        for group, title in titles
    )
    return Report(comparisons, groups, halves, sources, constants())


def summarize(group: str, comparisons: Iterable[Comparison]) -> Summary:
    """Median and 90th percentile (linear between ranks) of the absolute errors."""
    errors = [c.error for c in comparisons]
    return Summary(
        group,
        len(errors),
        statistics.median(abs(e) for e in errors),
        percentile([abs(e) for e in errors], 0.9),
        statistics.median(errors),
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the sorted values lie, linear between the two nearest ranks."""
    ranked = sorted(values)
    place = share * (len(ranked) - 1)
    low = int(place)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (place - low) * (ranked[high] - ranked[low])


@cache
def _notes() -> dict[str, Any]:
    with REASONS.open("rb") as file:
        return tomllib.load(file)


def reason(comparison: Comparison) -> str:
    """Why a row is wrong: the first note whose words all occur in the row's group, source and name.

    Raises:
        LookupError: Nobody has written why.
    """
    text = f"{comparison.group} | {comparison.row.source.title} | {comparison.row.name}"
    for note in _notes()["reason"]:
        if all(word in text for word in note["match"]):
            return str(note["why"])
    raise LookupError(f"no reason is written for: {text}; add one to {REASONS.name}")


def plain(made: Report) -> dict[str, Any]:
    """The report as plain data, for `build/accuracy.json`."""
    return {
        "targets": {group: asdict(target) for group, target in TARGETS.items()},
        "groups": [{**asdict(summary), "met": summary.met} for summary in made.groups],
        "halves": [{"half": name, **asdict(summary)} for name, summary in made.halves],
        "sources": [{"title": title, **asdict(summary)} for title, summary in made.sources],
        "constants": [asdict(constant) for constant in made.constants],
        "worst": {
            group: [{"row": c.row.name, "error": c.error, "why": reason(c)} for c in made.worst(group)]
            for group in TARGETS
        },
        "rows": [
            {
                "group": c.group,
                "row": c.row.name,
                "measure": c.kind,
                "published": c.published,
                "predicted": c.predicted,
                "unit": c.unit,
                "error": c.error,
                "held_out": c.row.held_out,
                "source": asdict(c.row.source),
            }
            for c in made.comparisons
        ],
    }
