"""From what the repeats of a case reported to the record that its file states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpu_bench import BENCHMARK_VERSION, SCHEMA_VERSION
from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.cases.kinds import KINDS
from gpu_bench.machine.chips import chip_of
from gpu_bench.record import rules, shape
from gpu_bench.record.derive import BLOCKS, work_of
from gpu_bench.record.judgement import MEASURED, diverged_at


def assemble(
    suite: str,
    case: Case,
    context: Mapping[str, Any],
    parts: Sequence[Mapping[str, Any]],
    command: str,
    predicted: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Make the record of a case from what its repeats reported, one part each.

    The last part may be a failure, which then is the record's outcome. `context` has `device`, `software`, `machine`
    and `code` as found when the run began. `predicted` is what was predicted before; None is nothing.
    """
    failed = next((part for part in parts if part["status"] not in MEASURED), None)
    record: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "benchmark_version": BENCHMARK_VERSION,
        "suite": suite,
        "outcome": failed["status"] if failed else "measured",
        "message": failed["message"] if failed else None,
        "case": case.as_dict(),
        "device": context["device"],
        "provenance": {
            **context["code"],
            "command": command,
            **context["software"],
            **context["machine"],
            "repeats": [
                {
                    "started": part["started"],
                    "finished": part["finished"],
                    "load_average": part.get("load_average"),
                    "others_share": part.get("others_share"),
                    "gpu": part.get("timing", {}).get("gpu"),
                    "host": part.get("host", context["machine"]["host"]),
                }
                for part in parts
            ],
        },
    }
    if predicted is not None:
        # Kept for failed cases too: that a case does not fit is a prediction like any other.
        record["predicted"] = predicted
    finished = [part for part in parts if part["status"] in MEASURED]
    blocks = _measured(case, context["device"], finished) if finished else {}
    if failed is None:
        record |= blocks
    elif finished:
        record["withheld"] = {"faults": [], "measured": kept(blocks)}
    return kept(record)


def kept(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a record's file states of a document, or of some of its blocks: nothing that follows from the rest."""
    found: dict[str, Any] = rules.stored(shape.Record, document)
    if found.get("device", {}).get("type") == "cpu":
        # Its name and its memory are the machine's, of which the provenance tells.
        found["device"] = {"type": "cpu"}
    return {name: value for name, value in found.items() if value is not None}


def impossible(record: Mapping[str, Any], faults: Sequence[str]) -> dict[str, Any]:
    """The record of a case that contradicts itself or physics: its figures go, what was measured stays in `withheld`.

    It is no result, and the next run tries the case again.
    """
    filled = {name: record[name] for name in BLOCKS if name in record and name not in ("predicted", "withheld")}
    # A later repeat failed: what the earlier ones measured is withheld already.
    earlier = record.get("withheld", {}).get("measured", {})
    return {
        **{name: value for name, value in record.items() if name not in filled},
        "outcome": "impossible",
        "message": f"not a result, because it cannot be: {faults[0]}",
        "withheld": {"faults": list(faults), "measured": {**earlier, **filled}},
    }


def _measured(case: Case, device: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The blocks that the repeats of a case fill."""
    match KINDS[case.kind].result:
        case "training":
            assert isinstance(case, TrainingCase)
            return _trained(case, device, parts)
        case "points":
            # The repeats' points are the same in the same order.
            return {"points": [_point(case, same) for same in zip(*(part["points"] for part in parts), strict=True)]}
        case "arms":
            return {"arms": _arms([part["arms"] for part in parts])}
        case block:
            return {block: parts[0][block]}


def _arms(repeats: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Runs from the repeats, each of another seed."""
    runs = {
        name: {"settings": run["settings"], "seeds": [repeat["runs"][name]["seed"] for repeat in repeats]}
        for name, run in repeats[0]["runs"].items()
    }
    return {**repeats[0], "runs": runs}


def _trained(case: TrainingCase, device: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The blocks of a training case."""
    first = parts[0]
    timings = [part["timing"] for part in parts]
    curves = [timing["losses"] for timing in timings]
    shared = min(len(curve) for curve in curves)
    chip = chip_of(device["name"])
    rent = chip.rent if chip else None
    return {
        "model": first["model"],
        "data": first["data"],
        "samples": {
            "step_s": [timing["step_s"] for timing in timings],
            "warmup_s": [timing["warmup_s"] for timing in timings],
            "warmup_settled": [timing["settled"] for timing in timings],
        },
        "compile": {
            "seconds": [timing["compile_s"] for timing in timings],
            "graphs": [timing["graphs"] for timing in timings],
            "graphs_while_timed": [timing["graphs_while_timed"] for timing in timings],
            "fallbacks": [timing.get("fallbacks", []) for timing in timings],
        },
        "ceilings": first["ceilings"],
        "loss": {
            "curve": curves[0],
            "same_in_all_repeats": all(curve[:shared] == curves[0][:shared] for curve in curves),
            "diverged_later": [diverged_at(case, curve) for curve in curves[1:]],
        },
        "memory": first["memory"],
        "course": first.get("course"),
        "attention_ran": first["attention_ran"],
        "energy": first["energy"],
        "cost": rent and {"usd_per_hour": rent.dollars, "source": rent.source.url, "date": rent.source.date},
    }


def _point(case: Case, repeats: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A point from its repeats; the first one's memory and shares count."""
    first = repeats[0]
    failed = next((one for one in repeats if one.get("status", "ok") != "ok"), first)
    known = work_of(case, first["settings"])
    return {
        "label": first["label"],
        "settings": dict(first["settings"]),
        "status": failed.get("status", "ok"),
        "message": failed.get("message"),
        "samples_s": [list(one["samples_s"]) for one in repeats],
        "work": {name: value for name, value in first.get("work", {}).items() if name not in known},
        "memory_peak": first.get("memory_peak"),
        "shares": dict(first.get("shares", {})),
        "losses": first.get("losses"),
    }
