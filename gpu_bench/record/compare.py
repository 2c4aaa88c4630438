"""Two sets of records: which numbers moved beyond noise.

A time has moved when three things hold. The repeats' medians, one per fresh process, do not overlap: every new one lies
on the same side of every old one. The bands of median ± half the interquartile range do not overlap. And the medians
differ by more than 1 %, below which clocks and temperatures of the day decide. Numbers without a spread, such as
memory, have moved when they differ by more than their own threshold.

A regression is a number that became worse by more than a bound, or a case that no longer works. It is not proposed as a
new number: it becomes the text of an issue, and a person decides.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gpu_bench.record.load import valid
from gpu_bench.record.spread import summarize
from gpu_bench.record.store import FINISHED
from gpu_bench.record.tables import Table

Verdict = Literal["moved", "same", "new", "gone", "status", "other"]
LEAST_TIME = 0.01
"""Times closer than this are the same whatever their spread."""
_LEAST = {"peak memory": 0.005, "loss": 0.01, "energy per token": 0.02}
"""Thresholds of numbers that a record has once, as shares. Memory is counted; loss depends on the order of sums."""


@dataclass(frozen=True)
class Change:
    """One number of one record, before and after."""

    record: str  # `suite/case--device`
    quantity: str  # What it is; for points with their label
    # `moved` or `same`; `new` and `gone` for records or numbers of one side only; `status` when a case ended otherwise
    # than before; `other` when the two cannot be compared, as `note` says
    verdict: Verdict
    old: float | None = None  # Before
    new: float | None = None  # After
    unit: str = ""  # Of both
    noise: float | None = None  # The share below which a difference means nothing
    note: str = ""  # In words, where numbers do not tell

    @property
    def share(self) -> float | None:
        """By which share of the old number it changed; None where there are not two numbers."""
        return None if self.old is None or self.new is None or not self.old else self.new / self.old - 1


def compare(old: Path, new: Path) -> list[Change]:
    """Compare two records, or two folders of records by suite, case and device.

    Raises:
        ValueError: When a path does not exist, or one is a folder and the other a file.
    """
    if old.is_dir() != new.is_dir():
        raise ValueError(f"'{old}' and '{new}' are not alike; allowed: two records, or two folders of records")
    before, after = _by_name(old), _by_name(new)
    if old.is_file():
        # Two files are compared whatever they are called.
        (name,) = after
        before = dict.fromkeys(after, next(iter(before.values())))
    found: list[Change] = []
    for name in sorted({*before, *after}):
        found += compare_records(name, before.get(name), after.get(name))
    return found


def _by_name(path: Path) -> dict[str, dict[str, Any]]:
    return {f"{file.parent.name}/{file.stem}": record for file, record in valid([path])}


def compare_records(name: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[Change]:
    """Compare two records of one name; None for one that is not there."""
    if old is None or new is None:
        yield Change(name, "record", "new" if old is None else "gone", note=_status(new or old or {}))
        return
    if old["status"] != new["status"]:
        yield Change(name, "status", "status", note=f"{_status(old)}, now {_status(new)}")
    if old["case"] != new["case"]:
        differing = sorted(key for key in {*old["case"], *new["case"]} if old["case"].get(key) != new["case"].get(key))
        yield Change(name, "case", "other", note=f"the case was changed: {', '.join(differing)}")
        return
    if old["benchmark_version"] != new["benchmark_version"]:
        note = f"benchmark version {old['benchmark_version']}, now {new['benchmark_version']}"
        yield Change(name, "version", "other", note=note)
    before, after = dict(_numbers(old)), dict(_numbers(new))
    for quantity in dict.fromkeys([*before, *after]):
        yield _judge(name, quantity, before.get(quantity), after.get(quantity))


@dataclass(frozen=True)
class _Number:
    """A number of a record: all samples by repeat, or a single value."""

    unit: str
    rows: Sequence[Sequence[float]] = ()
    value: float | None = None


def _numbers(record: Mapping[str, Any]) -> Iterator[tuple[str, _Number]]:
    """The numbers of a record that are worth comparing; the others follow from these."""
    if record["samples"] is not None:
        yield "step time", _Number("s", rows=record["samples"]["step_s"])
        singles = (
            ("peak memory", "B", record["memory"]["peak"]),
            ("loss", "1", record["loss"]["last_five_mean"]),
            ("energy per token", "J", record["energy"]["per_token_j"]),
        )
        for quantity, unit, value in singles:
            if value is not None:
                yield quantity, _Number(unit, value=value)
    for point in record["points"] or ():
        if point["seconds"] is not None:
            yield f"time of {point['label']}", _Number("s", rows=point["samples_s"])
    for one in (record["fit"] or {"policies": ()})["policies"]:
        yield f"largest batch, {one['policy']}", _Number("1", value=one["largest_batch"] or 0)


def _judge(name: str, quantity: str, old: _Number | None, new: _Number | None) -> Change:
    if old is None or new is None:
        return Change(name, quantity, "new" if old is None else "gone")
    if not old.rows or not new.rows:
        assert old.value is not None
        assert new.value is not None
        least = _LEAST.get(quantity, 0.0)
        moved = abs(new.value - old.value) > least * abs(old.value)
        return Change(name, quantity, "moved" if moved else "same", old.value, new.value, new.unit, least)
    noise = _noise(old.rows, new.rows)
    before, after = _median(old.rows), _median(new.rows)
    moved = abs(after - before) > noise * before and _apart(old.rows, new.rows)
    return Change(name, quantity, "moved" if moved else "same", before, after, new.unit, noise)


def _median(rows: Sequence[Sequence[float]]) -> float:
    return statistics.median(value for row in rows for value in row)


def _noise(old: Sequence[Sequence[float]], new: Sequence[Sequence[float]]) -> float:
    """The share that two medians must differ by so that their bands do not overlap, but at least 1 %."""
    spreads = [summarize([value for row in rows for value in row]) for rows in (old, new)]
    return max(LEAST_TIME, sum(float(one["iqr"]) for one in spreads) / 2 / float(spreads[0]["median"]))


def _apart(old: Sequence[Sequence[float]], new: Sequence[Sequence[float]]) -> bool:
    """Whether no median of a repeat lies among those of the other side."""
    before, after = ([statistics.median(row) for row in rows if row] for rows in (old, new))
    return max(before) < min(after) or max(after) < min(before)


def software_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What else is different between two records and may be why numbers moved: `torch 2.11.0, now 2.13.0`."""
    before = {**old["provenance"], "power limit": old["device"]["power_limit_w"]}
    after = {**new["provenance"], "power limit": new["device"]["power_limit_w"]}
    names = ("torch", "cuda", "cudnn", "triton", "driver", "python", "threads", "power limit")
    return [f"{name} {before[name]}, now {after[name]}" for name in names if before[name] != after[name]]


def _status(record: Mapping[str, Any]) -> str:
    status = str(record["status"])
    return status if status in FINISHED else f"{status} ({record['message']})"


def beyond_noise(changes: Sequence[Change]) -> list[Change]:
    """Those that a person should look at, the largest change first, then those without a number."""
    shown = [change for change in changes if change.verdict != "same"]
    return sorted(shown, key=lambda change: (change.share is None, -abs(change.share or 0.0), change.record))


def table(changes: Sequence[Change], title: str) -> Table:
    """The changes as a table."""
    rows = []
    for change in changes:
        moved = "" if change.share is None else f"{change.share * 100:+.1f} %"
        noise = "" if change.noise is None else f"{change.noise * 100:.1f} %"
        numbers = (_shown(change.old, change.unit), _shown(change.new, change.unit))
        verdict = "no difference" if change.verdict == "same" else change.verdict
        what = ": ".join(filter(None, (verdict, change.note)))
        rows.append((change.record, change.quantity, what, *numbers, moved, noise))
    return Table(title, ("record", "quantity", "what", "old", "new", "change", "noise"), tuple(rows), 3)


def _shown(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    match unit:
        case "s":
            return f"{value * 1e3:,.4g} ms" if value < 10 else f"{value:,.4g} s"
        case "B":
            return f"{value / 2**30:.3f} GiB" if value >= 2**30 else f"{value / 2**20:.3f} MiB"
        case "J":
            return f"{value * 1e3:.4g} mJ"
        case _:
            return f"{value:.4g}"


def summary(changes: Sequence[Change]) -> str:
    """One sentence: how many numbers were compared, and what became of them."""
    compared = sum(change.verdict in ("moved", "same") for change in changes)
    count = {verdict: sum(change.verdict == verdict for change in changes) for verdict in ("moved", "new", "gone")}
    others = sum(change.verdict in ("status", "other") for change in changes)
    return (
        f"{compared} numbers compared: {count['moved']} moved beyond noise, {compared - count['moved']} did not; "
        f"{count['new']} new, {count['gone']} gone, {others} not comparable or with another status"
    )


BOUNDS = {
    "step time": 0.10,
    "time of": 0.10,
    "energy per token": 0.10,
    "peak memory": 0.05,
    "loss": 0.05,
    "largest batch": 0.0,
}
"""By how much a number may become worse, as a share of the old one, by how its name begins. A smaller largest batch is
worse; of all others a larger value is. They are wider than noise: a new driver moves times by some percent."""


def bound_of(change: Change) -> float | None:
    """The bound of this number, as a share; None where it has none."""
    return next((bound for name, bound in BOUNDS.items() if change.quantity.startswith(name)), None)


def worse(change: Change) -> bool:
    """Whether a number is worse than its bound, or a case was `ok` and is no more."""
    if change.verdict == "status":
        return change.note.startswith("ok, now ")
    bound, share = bound_of(change), change.share
    if change.verdict != "moved" or bound is None or share is None:
        return False
    return (-share if change.quantity.startswith("largest batch") else share) > bound
