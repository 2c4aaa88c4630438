"""What a schema cannot say of a record: what must follow from the samples, what must sum up, what physics allows.

Everything derived is computed again from the raw part of the record, by the functions that made it. What is left is
what only the machine knew: times, allocations, its own name. A step faster than the device's peak, more memory than it
has, or samples longer than the run are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from gpu_bench import RELEASED
from gpu_bench.cases.case import TrainingCase
from gpu_bench.cases.kinds import FitCase, case_from_dict
from gpu_bench.cases.suites import SUITES, TINY
from gpu_bench.failures.case import FailureCase
from gpu_bench.hybrid.case import HybridCase
from gpu_bench.machine import provenance
from gpu_bench.machine.chips import chip_of
from gpu_bench.record.arms_checks import arms_faults
from gpu_bench.record.assembly import BLOCKS, MEASURED
from gpu_bench.record.points_checks import fit_faults, points_faults
from gpu_bench.record.training_checks import prediction_faults, training_faults


def inconsistencies(record: Mapping[str, Any]) -> list[str]:
    """One sentence per fault; none when the record is consistent."""
    try:
        return list(_faults(record))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        return [f"a part that the checks need is missing or malformed: {type(error).__name__}: {error}"]


def _faults(record: Mapping[str, Any]) -> Iterator[str]:
    case = case_from_dict(record["case"])
    if case.as_dict() != record["case"]:
        yield "the case is not written as the tool writes it"
    if record["name"] != case.name:
        yield f"name is {record['name']!r}, the case's is {case.name!r}"
    known = next((one for one in {**SUITES, **TINY}.get(record["suite"], ()) if one.name == case.name), None)
    if (
        known is not None
        and record["provenance"]["sources"] == provenance.source_hash()
        and known.as_dict() != record["case"]
    ):
        yield "the case is not what these sources have under its name"
    yield from _machine_faults(record)
    yield from _time_faults(record)
    if record["predicted"] is not None:
        assert isinstance(case, TrainingCase)
        yield from prediction_faults(case, record)
    if record["status"] not in MEASURED:
        yield from _failure_faults(record)
        return
    if record["withheld"] is not None:
        yield f"status is {record['status']}, and something is withheld"
    if (record["status"] == "ok") != (record["message"] is None):
        yield f"status is {record['status']}, the message is {record['message']!r}"
    if len(record["provenance"]["repeats"]) != case.repeats:
        yield f"there are {len(record['provenance']['repeats'])} repeats, the case has {case.repeats}"
    if isinstance(case, TrainingCase):
        yield from training_faults(case, record)
    elif isinstance(case, FailureCase | HybridCase):
        yield from arms_faults(case, record)
    elif isinstance(case, FitCase):
        yield from fit_faults(case, record)
    else:
        yield from points_faults(case, record)


def _failure_faults(record: Mapping[str, Any]) -> Iterator[str]:
    if not record["message"]:
        yield f"status is {record['status']} without a message that says why"
    for block in BLOCKS:
        if block != "predicted" and record[block] is not None:
            yield f"status is {record['status']}, and {block} is there"


def _machine_faults(record: Mapping[str, Any]) -> Iterator[str]:
    device, ran, case = record["device"], record["provenance"], record["case"]
    if device["type"] == "cuda":
        slug = provenance.slugify(device["name"] or "")
    else:
        slug = provenance.cpu_slug(device["name"], ran["cores"])
        if device["name"] != ran["cpu"] or device["memory"] != ran["memory"] or device["power_limit_w"] is not None:
            yield "the device is a CPU, and not the machine's"
        if any(ran[name] is not None for name in ("cuda", "cudnn", "driver", "nccl")):
            yield "the device is a CPU, and the software is a GPU's"
    if device["slug"] != slug:
        yield f"device.slug is {device['slug']!r}, of the name {device['name']!r} it is {slug!r}"
    if case["device"] == "cuda" and device["type"] != "cuda":
        yield "the case needs a GPU, the device is none"
    if device["memory"] is not None and device["memory"] < case["minimum_memory"]:
        yield f"the case needs {case['minimum_memory']} B, the device has {device['memory']} B"
    chip = chip_of(device["name"])
    # The driver and its error correction keep a few percent; a part of a GPU has less.
    if chip is not None and not 0.05 < (device["memory"] or 0) / chip.memory_bytes <= 1.1:
        yield f"device.memory is {device['memory']} B, a {device['name']} has {chip.memory_bytes:.0f} B"


def _time_faults(record: Mapping[str, Any]) -> Iterator[str]:
    ran = record["provenance"]
    moments = [provenance.moment(ran["started"])]
    if record["status"] in MEASURED and ran["started"] != ran["repeats"][0]["started"]:
        yield "provenance.started is not the first repeat's"
    if ran["finished"] != ran["repeats"][-1]["finished"]:
        yield "provenance.finished is not the last repeat's"
    for one in ran["repeats"]:
        moments += [provenance.moment(one["started"]), provenance.moment(one["finished"])]
    moments.append(provenance.moment(ran["finished"]))
    if moments != sorted(moments):
        yield "the repeats' times are not one after the other"
    # A clock that runs before the day on which this version was made is wrong itself.
    latest = max(datetime.now(UTC), provenance.moment(RELEASED)) + timedelta(days=1)
    if moments[-1] > latest:
        yield f"provenance.finished is {ran['finished']}, which is still to come"
    if moments[0] < provenance.moment("2025-01-01T00:00:00Z"):
        yield f"provenance.started is {ran['started']}, before there was anything to run"
    if ran["host"] != ran["repeats"][0]["host"]:
        yield "provenance.host is not the first repeat's"
