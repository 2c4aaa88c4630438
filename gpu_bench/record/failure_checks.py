"""Whether a case that was not measured can have ended as its record says: by its time limit, or by its memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.machine import provenance
from gpu_bench.record.judgement import NO_MEMORY

_PART = 0.1
"""Share of the memory below which what a step needs does not fill it, and below which what is free counts as nothing:
the engine knows a step's peak far better than this."""
_UNITS = {"B": 1, "bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SIZE = rf"(\d{{1,15}}(?:\.\d{{1,6}})?) ({'|'.join(_UNITS)})\b"
_ASKED = re.compile(rf"(?:tried to allocate|needs) {_SIZE}", re.IGNORECASE)
_FREE = re.compile(rf"of which {_SIZE} is free")


def failure_faults(case: Case, record: Mapping[str, Any]) -> Iterator[str]:
    """How the outcome of a record without a result contradicts what else the record says."""
    if record["outcome"] == "timeout":
        took = provenance.lasted(record["provenance"]["repeats"][-1])
        if took < case.time_limit_s:
            yield f"the time limit of {case.time_limit_s:.0f} s ended a repeat that took {took:.0f} s"
    elif record["outcome"] == "oom":
        yield from _memory_faults(case, record)


def _memory_faults(case: Case, record: Mapping[str, Any]) -> Iterator[str]:
    """Whether the message names memory, and the step needs a good part of it, or others had left none.

    What a step needs is what the engine said, or says today where it said nothing, or what the message says it asked
    for; where none is known, nothing contradicts the outcome.
    """
    told = [record[name] for name in ("predicted", "predicted_today")] if isinstance(case, TrainingCase) else []
    needed = next((one["memory"]["peak"] for one in told if one and one["memory"]), None)
    limit = case.memory_limit if isinstance(case, TrainingCase) else 0
    room = min((size for size in (limit, record["device"]["memory"]) if size), default=None)
    yield from memory_faults(record["message"] or "", needed, room)


def memory_faults(message: str, needed: float | None, room: float | None) -> Iterator[str]:
    """How a message contradicts that memory ran out.

    Args:
        message: What was said.
        needed: Bytes that the step needs at least; None where nothing says it.
        room: Bytes of the memory, if known.
    """
    if not names_memory(message):
        yield f"it ran out of memory, and its message does not say so: {message[:80]!r}"
        return
    if needed is None or room is None:
        return
    needed, free = max(needed, _size(_ASKED, message) or 0), _size(_FREE, message)
    if needed < _PART * room and (free is None or free > _PART * room):
        yield f"it ran out of memory, and needs {needed:.0f} B of {room} B: {message[:80]!r}"


def names_memory(message: str) -> bool:
    """Whether a message says that memory ran out."""
    return any(words in message for words in NO_MEMORY)


def _size(pattern: re.Pattern[str], message: str) -> float | None:
    """Bytes that a message names."""
    found = pattern.search(message)
    unit = {name.lower(): factor for name, factor in _UNITS.items()}
    return float(found[1]) * unit[found[2].lower()] if found else None
