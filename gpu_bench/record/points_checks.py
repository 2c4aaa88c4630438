"""What must hold of the points of a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from gpu_bench.cases.case import Case
from gpu_bench.cases.kinds import FORMATS, AttentionCase, RooflineCase
from gpu_bench.cases.sizes import SIZES
from gpu_bench.distributed.case import ScalingCase
from gpu_bench.input_pipeline.case import LoaderCase, TokenizeCase
from gpu_bench.machine import provenance
from gpu_bench.record import bounds, floors
from gpu_bench.record.derive import work_of
from gpu_bench.record.repeated import copied

_ENCODED_PER_S = 1e8
"""Bytes of text that no process encodes in a second, because Python looks up each word; a twentieth was measured."""

_LEAST_TIME = 0.5
"""Share of the time of less work that more of the same work takes at least, however much times scatter."""
_WORK: Mapping[str, tuple[str, ...]] = {
    "attention": ("flops", "tokens"),
    "loader": ("tokens",),
    "roofline": ("flops", "bytes"),
    "scaling": ("flops", "tokens"),
    "tokenize": ("bytes", "tokens"),
}
"""Work that the points of a kind of case have."""
_ENDS: Mapping[str, tuple[str, ...]] = {
    "attention": ("ok", "oom", "unsupported"),
    "loader": ("ok",),
    "roofline": ("ok", "oom", "unsupported"),
    "scaling": ("ok", "oom", "unsupported", "error"),
    "tokenize": ("ok",),
}
"""How a point of a kind of case can end; any other end is that of the whole repeat."""


def work_faults(case: Case, points: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Which work a file states that its kind of case does not have, or that follows from other values."""
    allowed = _WORK[case.kind]
    for point in points:
        known = work_of(case, point["settings"])
        for name in (name for name, amount in point["work"].items() if amount is not None):
            where = f"point {point['label']!r}: work.{name}"
            if name not in allowed:
                yield f"{where} is none of a {case.kind} case; allowed: {', '.join(allowed)}"
            elif name in known:
                yield f"{where}: no record states it, because it follows from the point's settings"


def samples_of(case: Case) -> int:
    """How many samples a repeat takes of each point, however long they last; 0 for a case that has no points."""
    match case:
        case AttentionCase() | RooflineCase() | TokenizeCase():
            return case.rounds
        case LoaderCase() | ScalingCase():
            return case.steps
        case _:
            return 0


def points_faults(case: Case, record: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the points of a measured record."""
    points = record["points"]
    labels = [point["label"] for point in points]
    if len({*labels}) != len(labels):
        yield "two points have one label"
    for point in points:
        yield from _point_faults(case, record, point)
    yield from _size_faults(points)
    for index, repeat in enumerate(record["provenance"]["repeats"]):
        total = sum(second for point in points for second in point["samples_s"][index])
        if total > provenance.lasted(repeat):
            yield f"samples of {total:.1f} s do not fit into a repeat of {provenance.lasted(repeat):.0f} s"


def _size_faults(points: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Where points that differ in their size alone contradict each other."""
    ends = {point["status"] for point in points}
    if ends == {"oom"}:
        yield "every point ran out of memory, and so nothing was measured"
    elif ends <= {"oom", "error"}:
        yield "no point was measured: every one failed"
    alike: dict[str, list[Mapping[str, Any]]] = {}
    for point in points:
        if isinstance(size := point["settings"].get("size"), int):
            others = {name: value for name, value in point["settings"].items() if name != "size"}
            alike.setdefault(repr(sorted(others.items())), []).append({**point, "size": size})
    for group in alike.values():
        ordered = sorted(group, key=lambda point: int(point["size"]))
        for smaller, larger in pairwise(ordered):
            yield from _pair_faults(smaller, larger)
        yield from (
            f"point {one['label']!r} took {one['memory_peak']} B, less than its size"
            for one in ordered
            if one["memory_peak"] is not None and one["memory_peak"] < one["size"]
        )


def _pair_faults(smaller: Mapping[str, Any], larger: Mapping[str, Any]) -> Iterator[str]:
    if (smaller["status"], larger["status"]) == ("oom", "ok"):
        yield f"point {smaller['label']!r} ran out of memory, and {larger['label']!r} did not"
    if (smaller["status"], larger["status"]) == ("ok", "ok"):
        less, more = (min(second for row in one["samples_s"] for second in row) for one in (smaller, larger))
        if more < _LEAST_TIME * less:
            yield f"point {larger['label']!r} takes {more:.3g} s, and {smaller['label']!r}, which is less, {less:.3g} s"


def _point_faults(case: Case, record: Mapping[str, Any], point: Mapping[str, Any]) -> Iterator[str]:
    name, device = point["label"], record["device"]
    yield from _sample_faults(case, point)
    if point["memory_peak"] is not None and point["memory_peak"] > (device["memory"] or bounds.memory_bytes(device)):
        yield f"point {name!r} took {point['memory_peak']} B, more than there is"
    flops, moved = point["rates"]["flops_per_s"], point["rates"]["bytes_per_s"]
    form = str(point["settings"].get("format", "fp8"))
    most = bounds.flops_per_s(record, form if form in FORMATS else "fp8")
    if flops is not None and flops > most:
        yield f"point {name!r} runs at {flops:.3g} FLOP/s, no such device passes {most:.3g}"
    if moved is not None and point["work"]["bytes"] >= floors.CACHED_BYTES and moved > bounds.bytes_per_s(device):
        yield f"point {name!r} moves {moved:.3g} B/s, no such device passes {bounds.bytes_per_s(device):.3g}"
    yield from _token_faults(case, record, point)


def _sample_faults(case: Case, point: Mapping[str, Any]) -> Iterator[str]:
    """Whether a point has the samples that its case takes and the end that it can have; only then what they are."""
    name, rows, status = point["label"], point["samples_s"], point["status"]
    wanted, counts = samples_of(case), {len(row) for row in rows}
    if len(rows) != case.repeats:
        yield f"point {name!r} does not have {case.repeats} repeats"
    elif (status == "ok") != (point["message"] is None) or (status == "ok") != bool(counts - {0}):
        total = sum(map(len, rows))
        yield f"point {name!r} is {status}, its message is {point['message']!r}, its samples are {total}"
    elif status not in _ENDS[case.kind] or (status == "unsupported" and point["settings"].get("operation") == "copy"):
        yield f"point {name!r} is {status}, which no such point of a {case.kind} case can be"
    elif status == "ok" and counts != {wanted}:
        told = ", ".join(map(str, sorted(counts)[:3]))
        yield f"point {name!r} has {told} samples of a repeat; the case takes {wanted}"
    else:
        yield from (f"point {name!r}: {fault}" for fault in copied(rows, "samples"))


def _token_faults(case: Case, record: Mapping[str, Any], point: Mapping[str, Any]) -> Iterator[str]:
    """Whether tokens are trained on, or text is encoded, faster than anything can."""
    processes, name = int(point["settings"].get("processes", 1) or 1), point["label"]
    tokens, moved = point["rates"]["tokens_per_s"], point["rates"]["bytes_per_s"]
    if isinstance(case, ScalingCase | LoaderCase) and tokens is not None:
        size = SIZES[case.model]
        flops = 6 * 12 * size.layers * size.hidden**2 * tokens / processes
        form = {"fp32": "fp32", "tf32": "tf32"}.get(case.precision, "bf16")
        most = bounds.flops_per_s(record, form)
        if flops > most:
            yield f"point {name!r} trains at {flops:.3g} FLOP/s on each device, none passes {most:.3g}"
    if isinstance(case, TokenizeCase) and tokens is not None:
        # A word's tokens are its bytes, merged; a byte that is no text becomes a character that is one token.
        made, text = point["work"]["tokens"], point["work"]["bytes"]
        if text is None or made > text:
            yield f"point {name!r} makes {made:.0f} tokens of {text or 0:.0f} B of text"
    rate = max(moved or 0, tokens or 0) if isinstance(case, TokenizeCase) else 0
    if rate > processes * _ENCODED_PER_S:
        yield f"point {name!r} encodes {rate:.3g} B/s"
