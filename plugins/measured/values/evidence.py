"""What a record says about itself in words: its device, its day, its status, the spread of what was timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from plugins.measured.errors import MeasuredError
from plugins.measured.values.quantities import Format, format_number, show
from plugins.measured.values.recorded import Leaf, Record

STATUS = {
    "ok": "measured",
    "oom": "out of memory",
    "error": "ended with an error",
    "unsupported": "not possible on this device",
    "timeout": "ended by the time limit",
    "throttled": "throttled while measuring",
    "unsettled": "measured, not steady",
    "recompiled": "measured, compiled meanwhile",
    "diverged": "the loss diverged",
    "impossible": "refused: it contradicts itself",
}
"""How a record's status is said to a reader."""


@dataclass(frozen=True)
class Distribution:
    """A quantity that was sampled: its median, its interquartile range and the number of samples."""

    median: Leaf
    iqr: Leaf
    n: int

    def spread(self, form: Format) -> str:
        """Half the interquartile range in the unit and number format of the median."""
        half = Leaf(self.iqr.value / 2, self.iqr.unit)
        return show(half.quantity(), form).number

    def sentence(self, form: Format) -> str:
        """`median of n = 60, interquartile range 1.2 ms`."""
        samples = format_number(self.n, ",d")
        return f"median of n = {samples}, interquartile range {show(self.iqr.quantity(), form).glued}"


def distribution(record: Record, path: str) -> Distribution | None:
    """The distribution that `path` leads to, or whose median it leads to; None for a single value."""
    parent, _, last = path.rpartition(".")
    base = parent if last == "median" and parent else path
    leaf = record.at(base)
    if not isinstance(leaf.value, Mapping) or not {"median", "iqr", "n"} <= leaf.value.keys():
        return None
    return Distribution(record.at(f"{base}.median"), record.at(f"{base}.iqr"), int(leaf.value["n"]))


def number_at(record: Record, path: str) -> Leaf:
    """The number at `path`; of a distribution, its median. Raises `MeasuredError` when there is none."""
    sampled = distribution(record, path)
    leaf = sampled.median if sampled else record.at(path)
    if isinstance(leaf.value, Mapping):
        raise MeasuredError(f"'{path}' is a group of values", f"name one of: {', '.join(leaf.value)}")
    return leaf


def device_name(record: Record) -> str:
    """The device as its driver calls it, or its slug."""
    return str(record.document["device"]["name"] or record.device)


def day(record: Record) -> str:
    """The day of the measurement, `2025-11-20`."""
    return str(record.document["provenance"]["finished"])[:10]


def source_line(record: Record) -> str:
    """Device, day and code version of a record: `NVIDIA H200, 2025-11-20, commit 1a2b3c4`."""
    provenance = record.document["provenance"]
    commit = provenance["git_commit"]
    version = f", commit {commit[:7]}{' with local changes' if provenance['dirty'] else ''}" if commit else ""
    return f"{device_name(record)}, {day(record)}{version}"
