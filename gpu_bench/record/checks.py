"""Checking records: against the JSON Schema, against themselves, and against their place in the folder."""

from __future__ import annotations

import importlib
import json
import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gpu_bench import BENCHMARK_VERSION, SCHEMA_VERSION
from gpu_bench.cases.case import Case
from gpu_bench.record.assembly import MEASURED, point_rates
from gpu_bench.record.spread import summarize
from gpu_bench.record.store import FINISHED, SCHEMA_FILE, read_json


def inconsistencies(record: Mapping[str, Any]) -> list[str]:
    """One sentence per fault; none when the record is consistent."""
    try:
        return list(_faults(record))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, statistics.StatisticsError) as error:
        return [f"a part that the checks need is missing or malformed: {type(error).__name__}: {error}"]


def _faults(record: Mapping[str, Any]) -> Iterator[str]:
    if record["name"] != record["case"]["name"]:
        yield f"name is {record['name']!r}, the case's is {record['case']['name']!r}"
    if record["status"] not in MEASURED:
        if not record["message"]:
            yield f"status is {record['status']} without a message that says why"
        return
    if record["points"] is not None:
        for point in record["points"]:
            yield from _point_faults(point)
    if record["fit"] is not None:
        yield from _fit_faults(record["case"], record["fit"])
    if record["samples"] is not None:
        yield from _training_faults(record)


def _training_faults(record: Mapping[str, Any]) -> Iterator[str]:
    case, samples, summary = record["case"], record["samples"], record["summary"]
    if len(samples["step_s"]) != case["repeats"] or any(len(row) != case["steps"] for row in samples["step_s"]):
        yield f"samples are not {case['repeats']} repeats of {case['steps']} steps"
    seconds = [second for row in samples["step_s"] for second in row]
    if summary["step_s"] != summarize(seconds):
        yield "summary.step_s does not follow from samples.step_s"
    tokens = case["batch"] * case["sequence"] * case["accumulate"]
    if summary["tokens_per_s"] != summarize([tokens / second for second in seconds]):
        yield "summary.tokens_per_s does not follow from samples.step_s"
    yield from _memory_faults(record["memory"])
    steps = len(samples["warmup_s"][0]) + case["steps"]
    if len(record["loss"]["curve"]) != steps:
        yield f"the loss curve has {len(record['loss']['curve'])} points for {steps} steps"
    energy = record["energy"]
    if energy["energy_j"] is not None and energy["per_token_j"] != energy["energy_j"] / (energy["steps"] * tokens):
        yield "energy.per_token_j does not follow from energy_j, steps and tokens"


def _memory_faults(memory: Mapping[str, Any]) -> Iterator[str]:
    total = sum(memory["at_peak"].values())
    if total != memory["peak"]:
        yield f"memory components sum to {total} B, the peak is {memory['peak']} B"
    if abs(memory["at_peak"]["remainder"]) > memory["tolerance"]:
        yield f"memory remainder {memory['at_peak']['remainder']} B exceeds {memory['tolerance']} B"
    held = memory["held"]
    if sum(held["optimizer"].values()) != held["optimizer_total"]:
        yield "memory.held.optimizer_total is not the sum of the optimizer's vectors"


def _point_faults(point: Mapping[str, Any]) -> Iterator[str]:
    flat = [second for row in point["samples_s"] for second in row]
    if point["seconds"] != (summarize(flat) if flat else None):
        yield f"seconds of point {point['label']!r} do not follow from its samples"
    if point["rates"] != point_rates(point["work"], statistics.median(flat) if flat else None):
        yield f"rates of point {point['label']!r} do not follow from its work and its samples"
    if (point["status"] == "ok") != (point["message"] is None):
        yield f"point {point['label']!r} is {point['status']}, its message is {point['message']!r}"


def _fit_faults(case: Mapping[str, Any], fit: Mapping[str, Any]) -> Iterator[str]:
    for result in fit["policies"]:
        fitting = [t["batch"] for t in fit["trials"] if t["policy"] == result["policy"] and t["outcome"] == "fits"]
        if result["largest_batch"] != max(fitting, default=None):
            yield f"the largest batch of policy {result['policy']!r} does not follow from the trials"
    if [result["policy"] for result in fit["policies"]] != list(case["policies"]):
        yield "fit.policies are not the case's policies"


def schema_unchecked() -> str | None:
    """What to tell where records cannot be held against their schema; None where they can.

    A bare machine with a GPU may lack the package that does it. Sums, summaries and names are checked all the same, and
    the schema by whoever takes the records in.
    """
    try:
        importlib.import_module("jsonschema")
    except ImportError:
        return "the schema was not checked, which needs a package: python -m pip install jsonschema"
    return None


def schema_faults(record: Mapping[str, Any]) -> list[str]:
    """Where the record departs from the schema, one line each: the place, then what is wrong. Needs `jsonschema`."""
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))
    errors = sorted(validator.iter_errors(record), key=lambda error: error.json_path)
    return [f"{error.json_path}: {error.message[:300]}" for error in errors]


def record_files(paths: Iterable[Path]) -> list[Path]:
    """The records that the paths name: files themselves, folders with all below them.

    Raises:
        ValueError: When a path does not exist.
    """
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise ValueError(f"path '{path}' does not exist; allowed: a record or a folder of records")
        files += sorted(path.rglob("*.json")) if path.is_dir() else [path]
    return files


def file_faults(path: Path) -> list[str]:
    """Everything wrong with one record file, as far as `schema_unchecked` leaves it to be found."""
    record = read_json(path)
    if record is None:
        return ["not a JSON object"]
    faults = schema_faults(record) if schema_unchecked() is None else []
    if faults:
        return faults
    faults = inconsistencies(record)
    if faults:
        return faults
    place = f"{record['suite']}/{record['name']}--{record['device']['slug']}.json"
    return [] if path.parts[-2:] == tuple(place.split("/")) else [f"the file should be called {place}"]


def answers(record: Mapping[str, Any] | None, case: Case) -> bool:
    """Whether the record is a finished, consistent result of exactly this case by this version."""
    return (
        record is not None
        and record.get("schema_version") == SCHEMA_VERSION
        and record.get("benchmark_version") == BENCHMARK_VERSION
        and record.get("case") == case.as_dict()
        and record.get("status") in FINISHED
        and not inconsistencies(record)
    )
