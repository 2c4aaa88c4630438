"""What a record says about itself in words: its device, its day, its status."""

from __future__ import annotations

from plugins.measured.values.recorded import Record

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
