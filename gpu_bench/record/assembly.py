"""From what the repeats of a case reported to its record."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from gpu_bench import BENCHMARK_VERSION, SCHEMA_VERSION
from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.cases.kinds import KINDS
from gpu_bench.failures import verdict as failures
from gpu_bench.hybrid import verdict as hybrid
from gpu_bench.machine.chips import chip_of
from gpu_bench.predict.prediction import model_flops, predict, recomputed_flops, shape_of
from gpu_bench.record.spread import summarize

TRAINING_BLOCKS = (
    "model", "data", "samples", "compile", "summary", "flops", "utilization", "loss", "memory", "energy", "cost"
)  # fmt: skip
BLOCKS = (*TRAINING_BLOCKS, "attention_ran", "course", "predicted", "points", "fit", "arms")
"""What a record has besides its head and its provenance; null where the kind of case or a failure leaves it empty."""
DERIVED = {
    "training": ("summary", "flops", "cost"),
    "points": ("seconds", "rates"),
    "fit": ("policies",),
    "arms": ("reference", "verdict", "sha256"),
}
"""What is computed from the rest of what a case measured; of training also `utilization` but for its ceilings."""
SPOILED = ("throttled", "unsettled", "recompiled", "diverged")
"""States of a record that holds measurements which something spoiled, from the least to the worst."""
MEASURED = ("ok", *SPOILED)
"""States of a record that holds measurements."""


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
    failed = next((part for part in parts if part["status"] not in MEASURED), None)
    worst = failed or max(parts, key=lambda part: MEASURED.index(part["status"]))
    record: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "benchmark_version": BENCHMARK_VERSION,
        "suite": suite,
        "name": case.name,
        "status": worst["status"],
        "message": worst["message"],
        "case": case.as_dict(),
        "device": context["device"],
        **dict.fromkeys(BLOCKS),
        "withheld": None,
    }
    if isinstance(case, TrainingCase):
        # Kept for failed cases too: that a case does not fit is a prediction like any other.
        record["predicted"] = predict(case, context["device"])
    finished = [part for part in parts if part["status"] in MEASURED]
    blocks = _measured(case, context["device"], finished) if finished else {}
    if failed is None:
        record |= blocks
    elif finished:
        record["withheld"] = {"faults": [], "measured": raw(case, blocks)}
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
                "gpu": part.get("timing", {}).get("gpu"),
                "host": part.get("host", context["machine"]["host"]),
            }
            for part in parts
        ],
    }
    return record


def _measured(case: Case, device: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The blocks that the repeats of a case fill."""
    match KINDS[case.kind].result:
        case "training":
            assert isinstance(case, TrainingCase)
            return _trained(case, device, parts)
        case "points":
            return {"points": _points([part["points"] for part in parts])}
        case "arms":
            join = failures.joined if case.kind == "failure" else hybrid.joined
            return {"arms": join([part["arms"] for part in parts])}
        case block:
            return {block: parts[0][block]}


def raw(case: Case, blocks: Mapping[str, Any]) -> dict[str, Any]:
    """What machines said, without what was computed from it."""
    kind = KINDS[case.kind].result
    if kind == "points":
        names = [name for name in blocks["points"][0] if name not in DERIVED[kind]]
        return {"points": [{name: point[name] for name in names} for point in blocks["points"]]}
    if kind in ("fit", "arms"):
        return {kind: {name: value for name, value in blocks[kind].items() if name not in DERIVED[kind]}}
    kept = {name: value for name, value in blocks.items() if name not in (*DERIVED[kind], "utilization")}
    return {**kept, "ceilings": blocks["utilization"]["ceilings"]}


def impossible(case: Case, record: Mapping[str, Any], faults: Sequence[str]) -> dict[str, Any]:
    """The record of a case that contradicts itself or physics: its figures go, what was measured stays in `withheld`.

    It is no result, and the next run tries the case again.
    """
    filled = {block: record[block] for block in BLOCKS if block != "predicted" and record[block] is not None}
    return {
        **record,
        **dict.fromkeys(filled),
        "status": "impossible",
        "message": f"not a result, because it cannot be: {faults[0]}",
        "withheld": {"faults": list(faults), "measured": raw(case, filled)},
    }


def _trained(case: TrainingCase, device: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The blocks of a training case."""
    first = parts[0]
    timings = [part["timing"] for part in parts]
    step_s = [timing["step_s"] for timing in timings]
    curves = [timing["losses"] for timing in timings]
    shared = min(len(curve) for curve in curves)
    flops, summary = training_flops(case), step_summary(case.tokens_per_step, step_s)
    return {
        "model": first["model"],
        "data": first["data"],
        "samples": {
            "step_s": step_s,
            "warmup_s": [timing["warmup_s"] for timing in timings],
            "warmup_settled": [timing["settled"] for timing in timings],
        },
        "compile": {
            "seconds": [timing["compile_s"] for timing in timings],
            "graphs": [timing["graphs"] for timing in timings],
            "graphs_while_timed": [timing["graphs_while_timed"] for timing in timings],
        },
        "summary": summary,
        "flops": flops,
        "utilization": utilization(flops, first["peaks"], float(summary["step_s"]["median"])),
        "loss": {
            **loss_summary(curves[0], len(timings[0]["warmup_s"])),
            "same_in_all_repeats": all(curve[:shared] == curves[0][:shared] for curve in curves),
        },
        "memory": first["memory"],
        "course": first.get("course"),
        "attention_ran": first["attention_ran"],
        "energy": first["energy"],
        "cost": _cost(device["name"], case.tokens_per_step / float(summary["step_s"]["median"])),
    }


def step_summary(tokens: int, step_s: Sequence[Sequence[float]]) -> dict[str, Any]:
    """The block `summary` of steps of so many tokens, from their seconds, repeat by repeat."""
    seconds = [second for row in step_s for second in row]
    medians = [statistics.median(row) for row in step_s]
    step = summarize(seconds)
    return {
        "step_s": step,
        "tokens_per_s": summarize([tokens / second for second in seconds]),
        "repeat_medians_s": medians,
        "repeat_spread": (max(medians) - min(medians)) / step["median"],
    }


def loss_summary(curve: Sequence[float | None], first_timed: int) -> dict[str, Any]:
    """The block `loss` but for what other repeats say: the first repeat's curve, where timing began, first and last."""
    last = curve[-5:]
    return {
        "curve": list(curve),
        "first_timed_step": first_timed,
        "first": curve[0],
        "last_five_mean": None if None in last else statistics.fmean(one for one in last if one is not None),
    }


def divergences(losses: Sequence[float | None]) -> int:
    """Steps whose loss is not finite, or larger than before anything was learned."""
    first = losses[0]
    return sum(loss is None or first is None or loss > first for loss in losses)


def perplexity(loss: float | None) -> float | None:
    """Among how many equally likely tokens a loss in nats per token leaves the choice."""
    return None if loss is None else math.exp(loss)


def training_flops(case: TrainingCase) -> dict[str, int]:
    """The block `flops` of a step."""
    needed, again, shape = model_flops(case), recomputed_flops(case), shape_of(case, padded=False)
    in_blocks = 12 * shape.layers * shape.hidden**2
    return {
        "model_per_step": needed.full,
        "model_per_step_causal": needed.causal,
        "recomputed_per_step": again,
        "fp8_per_step": 6 * in_blocks * case.tokens_per_step if case.precision.startswith("fp8") else 0,
    }


def utilization(flops: Mapping[str, int], peaks: Mapping[str, Any], step_s: float) -> dict[str, Any]:
    """Model FLOP/s, and its share of what the chip could do; unknown peak, null.

    Two conventions count attention: the whole square of scores, and its causal half, which is what kernels need. With
    long sequences the first can pass a peak that no kernel passed; its shares are null then.

    FP8 runs some products in 8 and the others in 16 bit. Over the BF16 peak that is a BF16 equivalent, which can
    exceed 1, and not an MFU. `formats_share` is the time that all products would take at the data sheet's peak of
    their own format, over the time they took.

    Args:
        flops: The block `flops`.
        peaks: `format`, `specified`, `specified_fp8`, and `ceilings`, the products that were measured.
        step_s: Median seconds of a step.
    """
    full, causal = flops["model_per_step"] / step_s, flops["model_per_step_causal"] / step_s
    again = flops["recomputed_per_step"] / step_s
    specified, fp8_peak = peaks["specified"], peaks["specified_fp8"]
    matmul, matmul_fp8 = ceiling(peaks["ceilings"], peaks["format"]), ceiling(peaks["ceilings"], "fp8")
    fp8 = flops["fp8_per_step"] > 0
    eight, other = flops["fp8_per_step"], flops["model_per_step_causal"] - flops["fp8_per_step"]
    mfu, mfu_causal = _shares(full, causal, None if fp8 else specified)
    hfu, _ = _shares(full + again, causal + again, None if fp8 else specified)
    matmul_share, matmul_share_causal = _shares(full, causal, matmul, equivalent=fp8)
    equivalent, equivalent_causal = _shares(full, causal, specified if fp8 else None, equivalent=True)
    return {
        "model_flops_per_s": full,
        "model_flops_per_s_causal": causal,
        "peak_format": peaks["format"],
        "specified_peak": specified,
        "matmul_ceiling": matmul,
        "fp8_specified_peak": fp8_peak,
        "fp8_matmul_ceiling": matmul_fp8,
        "ceilings": [dict(one) for one in peaks["ceilings"]],
        "mfu": mfu,
        "mfu_causal": mfu_causal,
        "hfu": hfu,
        "bf16_equivalent": equivalent,
        "bf16_equivalent_causal": equivalent_causal,
        "formats_share": (eight / fp8_peak + other / specified) / step_s if fp8 and fp8_peak and specified else None,
        "matmul_share": matmul_share,
        "matmul_share_causal": matmul_share_causal,
    }


def _shares(
    full: float, causal: float, peak: float | None, *, equivalent: bool = False
) -> tuple[float | None, float | None]:
    """Both conventions' shares of a peak; an equivalent may exceed 1."""
    if peak is None:
        return None, None
    counted = full <= peak or causal > peak or equivalent
    return full / peak if counted else None, causal / peak


def ceiling(ceilings: Sequence[Mapping[str, Any]], name: str) -> float | None:
    """FLOP/s that the fastest of the measured products in a format reached; None where none was measured.

    A training step in FP8 accumulates fast in one product of three, the forward one, and precisely in the other two:
    so does its ceiling.
    """
    best: dict[bool | None, float] = {}
    for one in ceilings:
        if one["format"] == name:
            mode = one["fast_accumulation"]
            best[mode] = max(best.get(mode, 0.0), float(one["flops_per_s"]))
    if name == "fp8" and True in best and False in best:
        return 3 / (1 / best[True] + 2 / best[False])
    return max(best.values(), default=None)


def _cost(device_name: str | None, tokens_per_s: float) -> dict[str, Any] | None:
    """Dollars at the price that the engine has on record for renting the chip, or None when it has none."""
    chip = chip_of(device_name)
    if chip is None or chip.rent is None:
        return None
    return {
        "usd_per_hour": chip.rent.dollars,
        "usd_per_1e9_tokens": price(chip.rent.dollars, tokens_per_s),
        "source": chip.rent.source.url,
        "date": chip.rent.source.date,
    }


def price(usd_per_hour: float, tokens_per_s: float) -> float:
    """Dollars for a billion tokens."""
    return usd_per_hour / 3600 / tokens_per_s * 1e9


def _points(repeats: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Join the repeats' points, which are the same in the same order; the first repeat's memory and shares count."""
    return [_point(same) for same in zip(*repeats, strict=True)]


def _point(repeats: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = repeats[0]
    samples = [list(one["samples_s"]) for one in repeats]
    flat = [second for row in samples for second in row]
    failed = next((one for one in repeats if one["status"] != "ok"), first)
    work = {name: first.get("work", {}).get(name) for name in ("flops", "bytes", "tokens")}
    return {
        "label": first["label"],
        "settings": dict(first["settings"]),
        "status": failed["status"],
        "message": failed["message"],
        "samples_s": samples,
        "seconds": summarize(flat) if flat else None,
        "work": work,
        "rates": point_rates(work, statistics.median(flat) if flat else None),
        "memory_peak": first.get("memory_peak"),
        "shares": dict(first.get("shares", {})),
        "losses": first.get("losses"),
    }


def point_rates(work: Mapping[str, float | None], seconds: float | None) -> dict[str, float | None]:
    """Work per second of a point, from its median time."""
    return {
        f"{name}_per_s": amount / seconds if amount is not None and seconds else None for name, amount in work.items()
    }
