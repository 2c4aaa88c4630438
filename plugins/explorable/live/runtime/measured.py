"""Measured values in an act: how `act.py` asks for them, and how they travel with its source.

A browser has no folder of records, and a measured number must not be typed. So the build looks up what an act asks
for and puts it into the act's program; whoever loads that, the build or the browser, answers `records` from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import fnmatchcase

from explorable.live.runtime.contract import Value


@dataclass(frozen=True)
class MeasuredRecord:
    """One measured case, reduced to the values an act asked for.

    Attributes:
        suite: The folder of the record.
        case: The name of the case.
        device: The device's slug; suite, case and device name the record's file.
        title: The device as its driver calls it.
        day: When it was measured, e.g. `2025-11-20`.
        status: `ok`, `throttled`, `oom`, `error` or `timeout`.
        values: What stands at each dotted path, in the schema's unit; None where the run did not measure it.
    """

    suite: str
    case: str
    device: str
    title: str
    day: str
    status: str
    values: Mapping[str, Value | None]


_carried: ContextVar[tuple[MeasuredRecord, ...] | None] = ContextVar("carried", default=None)


def records(suite: str, *paths: str) -> tuple[MeasuredRecord, ...]:
    """The committed records of a suite, each with the values at these dotted paths; empty when nothing is measured.

    To be called while `act.py` is loaded, with literal arguments, because the build reads them there.

    Args:
        suite: The suite's name, or a pattern such as `"*"`.
        paths: Dotted paths in a record, e.g. `"memory.held.activations"`.

    Raises:
        RuntimeError: The act is loaded already.
    """
    carried = _carried.get()
    if carried is None:
        raise RuntimeError("records() answers only while act.py is loaded; keep its result in a constant")
    return tuple(
        MeasuredRecord(**{**vars(one), "values": {path: one.values.get(path) for path in paths}})
        for one in carried
        if fnmatchcase(one.suite, suite)
    )


@contextmanager
def answering(found: Sequence[MeasuredRecord]) -> Iterator[None]:
    """While it is active, `records` answers from these."""
    token = _carried.set(tuple(found))
    try:
        yield
    finally:
        _carried.reset(token)
