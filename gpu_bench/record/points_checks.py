"""What must hold of the points of a record, and of a search for what fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from gpu_bench.cases.card import trial
from gpu_bench.cases.case import Case
from gpu_bench.cases.kinds import FORMATS, FitCase
from gpu_bench.cases.sizes import SIZES
from gpu_bench.distributed.case import ScalingCase
from gpu_bench.input_pipeline.case import LoaderCase, TokenizeCase
from gpu_bench.machine import provenance
from gpu_bench.predict.prediction import predicted_batch
from gpu_bench.record import bounds, floors
from gpu_bench.record.derive import work_of
from gpu_bench.record.repeated import copied

_ENCODED_PER_S = 1e9
"""Bytes of text that no processor encodes in a second."""


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
    if points and all(point["status"] == "oom" for point in points):
        yield "every point ran out of memory, and so nothing was measured"
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
    name, rows, device = point["label"], point["samples_s"], record["device"]
    flat = [second for row in rows for second in row]
    if len(rows) != case.repeats:
        yield f"point {name!r} does not have {case.repeats} repeats"
    if (point["status"] == "ok") != (point["message"] is None) or (point["status"] == "ok") != bool(flat):
        yield f"point {name!r} is {point['status']}, its message is {point['message']!r}, its samples are {len(flat)}"
    yield from (f"point {name!r}: {told}" for told in copied(rows, "samples"))
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
    rate = max(moved or 0, tokens or 0) if isinstance(case, TokenizeCase) else 0
    if rate > processes * _ENCODED_PER_S:
        yield f"point {name!r} encodes {rate:.3g} B/s"


def fit_faults(case: FitCase, record: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the trials of a search."""
    fit, device = record["fit"], record["device"]
    tried = [(one["policy"], one["batch"]) for one in fit["trials"]]
    if len({*tried}) != len(tried) or not {*tried} <= {(p, b) for p in case.policies for b in case.batches}:
        yield "fit.trials are not among the case's policies and batches, each at most once"
    if [result["policy"] for result in fit["policies"]] != list(case.policies):
        yield "fit.policies are not the case's policies"
        return
    for one in fit["trials"]:
        yield from _trial_faults(case, record, one)
    for policy in case.policies:
        own = sorted((one for one in fit["trials"] if one["policy"] == policy), key=lambda one: int(one["batch"]))
        peaks = [one["peak"] for one in own if one["outcome"] == "fits"]
        if peaks != sorted(peaks):
            yield f"a larger batch of policy {policy!r} takes less memory"
        best = max((one["batch"] for one in own if one["outcome"] == "fits"), default=0)
        if any(one["outcome"] == "oom" and one["batch"] < best for one in own):
            yield f"a batch of policy {policy!r} does not fit, and a larger one does"
    if record["provenance"]["sources"] == provenance.source_hash():
        for result in fit["policies"]:
            if result["predicted_batch"] != predicted_batch(case, result["policy"], device["type"]):
                yield f"the predicted batch of policy {result['policy']!r} is not the engine's"


def _trial_faults(case: FitCase, record: Mapping[str, Any], one: Mapping[str, Any]) -> Iterator[str]:
    name, measured, device = f"trial {one['policy']} {one['batch']}", one["outcome"] == "fits", record["device"]
    if measured != (one["peak"] is not None) or measured != (one["step_s"] is not None):
        yield f"{name} is {one['outcome']}; peak and time are of those that fit"
        return
    if measured != (one["message"] is None):
        yield f"{name} is {one['outcome']}, its message is {one['message']!r}"
    if not measured:
        return
    training = trial(case, one["policy"], one["batch"])
    if one["peak"] > (record["fit"]["limit"] or device["memory"]):
        yield f"{name} fits, and its peak is above the limit"
    if one["peak"] < (least := floors.peak_bytes(training)):
        yield f"{name} peaks at {one['peak']} B; weights, states and what the backward pass needs are {least} B"

    least_s = floors.step_seconds(training, partial(bounds.flops_per_s, record), bounds.bytes_per_s(device))
    if one["step_s"] < least_s:
        yield f"{name} takes {one['step_s']:.3g} s a step; no device needs less than {least_s:.3g} s"
