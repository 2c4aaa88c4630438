"""Records: assembled from repeats, checked for inner consistency, written so that nothing finished can be lost."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpu_bench import BENCHMARK_VERSION, SCHEMA_VERSION
from gpu_bench.cases import Case

FINISHED = ("ok", "oom", "throttled")
"""States that are a result. `error` and `timeout` are not: the next run tries those cases again."""
SCHEMA_FILE = Path(__file__).parent / "schema" / "record.json"
RESULTS = Path(__file__).parent / "results"


def record_path(folder: Path, suite: str, case: str, slug: str) -> Path:
    """`<folder>/<suite>/<case>--<device>.json`: the records of several devices live side by side."""
    return folder / suite / f"{case}--{slug}.json"


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write the file at once or not at all: a reader, a crash or a power cut never meets half a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1, ensure_ascii=False, allow_nan=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private by default; a record is meant to be read.
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    if os.name == "posix":
        # The rename itself is only durable once the folder is.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_json(path: Path) -> dict[str, Any] | None:
    """The document, or None when there is none or it is not a JSON object."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


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


def summarize(values: Sequence[float]) -> dict[str, float | int]:
    """Median, quartiles, their distance and the number of samples; quartiles by linear interpolation."""
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return {"median": median, "q1": q1, "q3": q3, "iqr": q3 - q1, "n": len(values)}


def assemble(
    suite: str, case: Case, context: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], command: str
) -> dict[str, Any]:
    """Make the record of a case from what its repeats reported.

    Args:
        suite: The suite the case belongs to.
        case: What was run.
        context: `device`, `software`, `machine` and `code` as found when the run began.
        parts: One report per repeat, in order; the last one may be a failure, which then is the record's status.
        command: What was typed.
    """
    failed = next((part for part in parts if part["status"] not in ("ok", "throttled")), None)
    throttled = next((part for part in parts if part["status"] == "throttled"), None)
    worst = failed or throttled or parts[0]
    record: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "benchmark_version": BENCHMARK_VERSION,
        "suite": suite,
        "name": case.name,
        "status": worst["status"],
        "message": worst["message"],
        "case": case.as_dict(),
        "device": context["device"],
        **dict.fromkeys(
            ("model", "data", "samples", "summary", "flops", "utilization", "loss", "memory", "energy"), None
        ),
    }
    if failed is None:
        record |= _measured(case, parts)
    record["provenance"] = {
        **context["code"],
        "command": command,
        **context["software"],
        **context["machine"],
        "started": parts[0]["started"],
        "finished": parts[-1]["finished"],
        "repeats": [
            {
                "started": part["started"],
                "finished": part["finished"],
                "load_average": part.get("load_average"),
                "others_share": part.get("timing", {}).get("others_share"),
                "gpu_samples": part.get("timing", {}).get("gpu_samples", []),
            }
            for part in parts
        ],
    }
    return record


def _measured(case: Case, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The blocks of a record that only a finished case has."""
    first = parts[0]
    timings = [part["timing"] for part in parts]
    seconds = [second for timing in timings for second in timing["step_s"]]
    medians = [statistics.median(timing["step_s"]) for timing in timings]
    step = summarize(seconds)
    curves = [timing["losses"] for timing in timings]
    shared = min(len(curve) for curve in curves)
    warmup = len(timings[0]["warmup_s"])
    energies = [timing["energy_j"] for timing in timings]
    tokens = case.tokens_per_step * len(timings[0]["step_s"])
    return {
        "model": first["model"],
        "data": first["data"],
        "samples": {
            "step_s": [timing["step_s"] for timing in timings],
            "warmup_s": [timing["warmup_s"] for timing in timings],
            "warmup_settled": [timing["settled"] for timing in timings],
        },
        "summary": {
            "step_s": step,
            "tokens_per_s": summarize([case.tokens_per_step / second for second in seconds]),
            "repeat_medians_s": medians,
            "repeat_spread": (max(medians) - min(medians)) / step["median"],
        },
        "flops": {"model_per_step": first["flops"]["full"], "model_per_step_causal": first["flops"]["causal"]},
        "utilization": _utilization(first, float(step["median"])),
        "loss": {
            "curve": curves[0],
            "first_timed_step": warmup,
            "first": curves[0][0],
            "last_five_mean": None if None in curves[0][-5:] else statistics.fmean(curves[0][-5:]),
            "same_in_all_repeats": all(curve[:shared] == curves[0][:shared] for curve in curves),
        },
        "memory": first["memory"],
        "energy": {
            "timed_steps_j": energies,
            "per_token_j": None if None in energies else statistics.fmean(energies) / tokens,
        },
    }


def _utilization(first: Mapping[str, Any], step_s: float) -> dict[str, float | None]:
    """Model FLOP/s, and its share of the data sheet's peak and of the measured matrix product; unknown peak, null."""
    full, causal = first["flops"]["full"] / step_s, first["flops"]["causal"] / step_s
    specified, matmul = first["peaks"]["specified"], first["peaks"]["matmul"]
    return {
        "model_flops_per_s": full,
        "model_flops_per_s_causal": causal,
        "specified_peak": specified,
        "matmul_ceiling": matmul,
        "mfu": full / specified if specified else None,
        "mfu_causal": causal / specified if specified else None,
        "matmul_share": full / matmul,
        "matmul_share_causal": causal / matmul,
    }


def inconsistencies(record: Mapping[str, Any]) -> list[str]:
    """What a schema cannot say: sums that must hold, summaries that must follow from the samples.

    Returns:
        One sentence per fault; none when the record is consistent.
    """
    try:
        return _inconsistencies(record)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, statistics.StatisticsError) as error:
        return [f"a part that the checks need is missing or malformed: {type(error).__name__}: {error}"]


def _inconsistencies(record: Mapping[str, Any]) -> list[str]:
    faults: list[str] = []
    if record["status"] not in ("ok", "throttled"):
        if not record["message"]:
            faults.append(f"status is {record['status']} without a message that says why")
        return faults
    case, samples, summary, memory = (record[key] for key in ("case", "samples", "summary", "memory"))
    if record["name"] != case["name"]:
        faults.append(f"name is {record['name']!r}, the case's is {case['name']!r}")
    if len(samples["step_s"]) != case["repeats"] or any(len(row) != case["steps"] for row in samples["step_s"]):
        faults.append(f"samples are not {case['repeats']} repeats of {case['steps']} steps")
    seconds = [second for row in samples["step_s"] for second in row]
    if summary["step_s"] != summarize(seconds):
        faults.append("summary.step_s does not follow from samples.step_s")
    tokens = case["batch"] * case["sequence"]
    if summary["tokens_per_s"] != summarize([tokens / second for second in seconds]):
        faults.append("summary.tokens_per_s does not follow from samples.step_s")
    total = sum(memory["at_peak"].values())
    if total != memory["peak"]:
        faults.append(f"memory components sum to {total} B, the peak is {memory['peak']} B")
    if abs(memory["at_peak"]["remainder"]) > memory["tolerance"]:
        faults.append(f"memory remainder {memory['at_peak']['remainder']} B exceeds {memory['tolerance']} B")
    held = memory["held"]
    if sum(held["optimizer"].values()) != held["optimizer_total"]:
        faults.append("memory.held.optimizer_total is not the sum of the optimizer's vectors")
    steps = len(samples["warmup_s"][0]) + case["steps"]
    if len(record["loss"]["curve"]) != steps:
        faults.append(f"the loss curve has {len(record['loss']['curve'])} points for {steps} steps")
    return faults
