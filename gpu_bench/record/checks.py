"""What a description of fields cannot say of a record: what belongs together, and what physics allows.

Nothing that follows from other values is stated in a record, so nothing is computed twice to be compared. What is left
is what only the machine knew: times, allocations, its own name. A step faster than its products, less memory than the
weights take, a repeat that is a copy of another: these are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from gpu_bench import BENCHMARK_VERSION, RELEASED
from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.cases.kinds import KINDS, FitCase, case_from_dict
from gpu_bench.cases.suites import SUITES, TINY
from gpu_bench.experiments.failures.case import FailureCase
from gpu_bench.experiments.hybrid.case import HybridCase
from gpu_bench.machine import provenance
from gpu_bench.machine.chips import nearly_known
from gpu_bench.record import bounds
from gpu_bench.record.arms_checks import arms_faults, missing_parts
from gpu_bench.record.derive import BLOCKS, derive
from gpu_bench.record.failure_checks import failure_faults
from gpu_bench.record.fit_checks import fit_faults
from gpu_bench.record.plan_checks import plan_faults
from gpu_bench.record.points_checks import points_faults, work_faults
from gpu_bench.record.training_checks import numbers, prediction_faults, training_faults

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "training": ("model", "data", "samples", "compile", "ceilings", "loss", "memory", "energy", "predicted"),
    "points": ("points",),
    "fit": ("fit",),
    "arms": ("arms",),
}
"""Blocks of a measured record, by what its kind of case fills."""
_ALLOWED = {"training": ("course", "attention_ran", "cost")}
_MOST_BY_OTHERS, _WATCHED_S = 0.985, 2.0
"""Share of the processors' time that others may take while steps are timed: what is left trains nothing, even where ten
programs share a core. The system counts in ticks, so a shorter time than this says nothing."""
_LATER_S = 120.0
"""Seconds that a repeat may last beyond its limit: starting a process, counting memory, measuring products."""


def inconsistencies(record: Mapping[str, Any]) -> list[str]:
    """One sentence per fault; none when what the record states is consistent and possible."""
    if "kind" not in record["case"]:
        return ["at /case: 'kind' is a required property"]
    try:
        missing = list(_block_faults(record)) or list(_arms_missing(record)) or list(_work_stated(record))
        return missing or list(_faults(derive(record)))
    except KeyError as error:
        return [f"the property {error} is missing, which the checks need"]
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        return [f"a part that the checks need is missing or malformed: {type(error).__name__}: {error}"]


def _block_faults(record: Mapping[str, Any]) -> Iterator[str]:
    """Whether the record has the blocks of its kind of case, and no others."""
    fills, outcome = KINDS[record["case"]["kind"]].result, record["outcome"]
    there = {name for name in BLOCKS if record.get(name) is not None}
    needed = {*_NEEDED[fills]} if outcome == "measured" else {"message"}
    if fills == "training":
        needed.add("predicted")
    allowed = {*needed, *(_ALLOWED.get(fills, ()) if outcome == "measured" else ("withheld",))}
    for name in sorted(needed - there):
        yield f"the outcome is {outcome}, and {name} is missing"
    for name in sorted(there - allowed):
        yield f"the outcome is {outcome} of a case of kind {record['case']['kind']}, and {name} is there"


def _arms_missing(record: Mapping[str, Any]) -> Iterator[str]:
    """Whether the compared runs of a measured record are all there; without them nothing follows from it."""
    case = case_from_dict(record["case"])
    if record["outcome"] == "measured" and isinstance(case, FailureCase | HybridCase):
        yield from missing_parts(case, record["arms"])


def _work_stated(record: Mapping[str, Any]) -> Iterator[str]:
    """Whether the points of a measured record state only work that their kind of case has."""
    if record["outcome"] == "measured" and record.get("points") is not None:
        yield from work_faults(case_from_dict(record["case"]), record["points"])


def _faults(record: Mapping[str, Any]) -> Iterator[str]:
    case, ran = case_from_dict(record["case"]), record["provenance"]
    known = next((one for one in {**SUITES, **TINY}.get(record["suite"], ()) if one.name == case.name), None)
    current = ran["sources"] == provenance.source_hash()
    if known is not None and current and known.as_dict() != record["case"]:
        yield "the case is not what these sources have under its name"
    yield from _machine_faults(record)
    yield from _time_faults(case, record)
    if record["predicted"] is not None:
        assert isinstance(case, TrainingCase)
        yield from prediction_faults(case, record)
    if record["outcome"] != "measured":
        if not record["message"]:
            yield f"the outcome is {record['outcome']} without a message that says why"
        yield from failure_faults(case, record)
        return
    if len(ran["repeats"]) != case.repeats:
        yield f"there are {len(ran['repeats'])} repeats, the case has {case.repeats}"
    elif isinstance(case, TrainingCase):
        yield from training_faults(case, record)
    elif isinstance(case, FailureCase | HybridCase):
        yield from arms_faults(case, record)
    elif isinstance(case, FitCase):
        yield from fit_faults(case, record)
    else:
        yield from points_faults(case, record)
    if current:
        yield from plan_faults(case, record)


def _machine_faults(record: Mapping[str, Any]) -> Iterator[str]:
    device, ran, case = record["device"], record["provenance"], record["case"]
    if device["type"] == "cpu":
        if any(ran[name] is not None for name in ("cuda", "cudnn", "driver", "nccl")):
            yield "the device is a CPU, and the software is a GPU's"
        if case["device"] == "cuda" or case.get("step_graph"):
            yield "the case needs a GPU, the device is none"
        if any(one["gpu"] is not None for one in ran["repeats"]):
            yield "a CPU has no GPU's clocks"
    else:
        yield from _gpu_faults(record)
    yield from _devices_faults(case, device["type"], ran["cores"])
    if device["memory"] is not None and device["memory"] < case["minimum_memory"]:
        yield f"the case needs {case['minimum_memory']} B, the device has {device['memory']} B"
    if ran["memory"] is not None and not 2**28 <= ran["memory"] <= 2**47:
        yield f"the machine has {ran['memory']} B of memory"
    if ran["cores"] is not None and ran["threads"] > 4 * ran["cores"]:
        yield f"{ran['threads']} threads on {ran['cores']} processors"
    rows = record["samples"]["step_s"] if record["samples"] else ()
    for index, (one, row) in enumerate(zip(ran["repeats"], rows, strict=False)):
        if (one["others_share"] or 0) > _MOST_BY_OTHERS and sum(row) >= _WATCHED_S:
            yield f"others took {one['others_share']:.0%} of the processors in repeat {index + 1}"
    if numbers(record["benchmark_version"]) > numbers(BENCHMARK_VERSION):
        yield f"benchmark_version is {record['benchmark_version']}, which is still to come"


def _devices_faults(case: Mapping[str, Any], kind: str, cores: int | None) -> Iterator[str]:
    """Whether a case can occupy so many devices: several where processes share a step, on a CPU its processors."""
    devices = case["devices"]
    most = case["processes"][-1] if case["kind"] == "scaling" else 1
    if devices > most:
        yield f"the case occupies {devices} devices, and its processes at most {most}"
    if kind == "cpu" and cores is not None and devices > cores:
        yield f"the case occupies {devices} devices, the machine has {cores} processors"


def _gpu_faults(record: Mapping[str, Any]) -> Iterator[str]:
    device, ran = record["device"], record["provenance"]
    if device["name"] is None:
        yield "a GPU has a name"
        return
    if (proper := nearly_known(device["name"])) is not None:
        yield f"device.name is {device['name']!r}, and a driver calls this chip {proper!r}"
    # The driver and its error correction keep a few percent; a part of a GPU has less.
    most, limit, highest = bounds.memory_bytes(device), device["power_limit_w"], bounds.watts(device)
    if not 0.04 * most < (device["memory"] or 0) <= most:
        yield f"device.memory is {device['memory']} B; at most {most:.0f} B are known of such a device"
    if limit is not None and not 0.02 * highest < limit <= highest:
        yield f"device.power_limit_w is {limit} W; no such device has more than {highest:.0f} W"
    built = ran["torch"].partition("+cu")[2]
    if "+cpu" in ran["torch"] or (built.isdigit() and built != (ran["cuda"] or "").replace(".", "")[: len(built)]):
        yield f"PyTorch {ran['torch']} does not run on CUDA {ran['cuda']}"
    for one in ran["repeats"]:
        for name, state in (one["gpu"] or {}).items():
            if isinstance(state, Mapping) and {"minimum", "mean", "maximum"} <= state.keys():
                yield from _reading_faults(name, state, min(limit or highest, highest))


def _reading_faults(name: str, state: Mapping[str, float], watts: float) -> Iterator[str]:
    """What is wrong with a reading of the GPU's: its order, and bounds of the data sheet."""
    low, mean, high = state["minimum"], state["mean"], state["maximum"]
    # The mean is rounded to three digits.
    if not low - 1e-3 <= mean <= high + 1e-3:
        yield f"{name} is {low} at least, {mean} on average and {high} at most"
    most = {"temperature_c": bounds.HOTTEST_C, "power_w": 1.3 * watts, **bounds.FASTEST_CLOCK_MHZ}.get(name)
    if most is not None and high > most:
        yield f"{name} is up to {high}, at most {most:.0f} are possible"
    if name == "power_w" and mean > 1.1 * watts:
        yield f"{name} is {mean} on average, the limit {watts:.0f}"


def _time_faults(case: Case, record: Mapping[str, Any]) -> Iterator[str]:
    moments = []
    for one in record["provenance"]["repeats"]:
        moments += [provenance.moment(one["started"]), provenance.moment(one["finished"])]
        # What resumes may have waited between its processes.
        longest = math.inf if KINDS[case.kind].resumes else 2 * case.time_limit_s + _LATER_S
        if provenance.lasted(one) > longest:
            yield f"a repeat lasted {provenance.lasted(one):.0f} s, its limit is {case.time_limit_s:.0f} s"
    if moments != sorted(moments):
        yield "the repeats' times are not one after the other"
    # A clock that runs before the day on which this version was made is wrong itself.
    latest = max(datetime.now(UTC), provenance.moment(RELEASED)) + timedelta(days=1)
    if moments[-1] > latest:
        yield f"provenance.finished is {record['provenance']['finished']}, which is still to come"
    if moments[0] < provenance.moment("2025-01-01T00:00:00Z"):
        yield f"provenance.started is {record['provenance']['started']}, before there was anything to run"
