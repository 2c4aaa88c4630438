"""What follows from a record: medians, FLOPs, shares, costs, verdicts. `derive` computes it whenever a record is read.

The result has the fields of `shape.py`, those that no file states included, and null for blocks that a case lacks.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from gpu_bench.cases.card import emulates
from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.cases.kinds import AttentionCase, FitCase, RooflineCase, case_from_dict
from gpu_bench.cases.sizes import config_of, remainder_tolerance
from gpu_bench.distributed.case import ScalingCase
from gpu_bench.experiments.failures import verdict as failures
from gpu_bench.experiments.hybrid import verdict as hybrid
from gpu_bench.experiments.hybrid.arms import Arm
from gpu_bench.experiments.hybrid.case import HybridCase
from gpu_bench.input_pipeline.case import LoaderCase, TokenizeCase
from gpu_bench.machine import provenance
from gpu_bench.machine.chips import chip_of, compute_format, format_peak
from gpu_bench.machine.nvml import abnormal
from gpu_bench.predict.prediction import completed, model_flops, predict, recomputed_flops, shape_of
from gpu_bench.record import rules, shape
from gpu_bench.record.judgement import disturbed, diverged_at, judged, worst
from gpu_bench.record.spread import summarize

_NULL = {name: rules.stated(hint) for name, (one, hint) in rules.hints(shape.Record).items() if one.default is None}
BLOCKS = tuple(name for name, stated in _NULL.items() if stated)
"""What a record's file may lack: it is null where the kind of case or a failure leaves it empty."""


def derive(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with everything that follows from what its file states."""
    case, ran = case_from_dict(record["case"]), record["provenance"]
    view: dict[str, Any] = {**dict.fromkeys(_NULL), **record, "name": case.name, "status": record["outcome"]}
    view["device"] = device = _device(record["device"], ran)
    repeats = ran["repeats"]
    view["provenance"] = {
        **ran,
        "host": repeats[0]["host"],
        "started": repeats[0]["started"],
        "finished": repeats[-1]["finished"],
    }
    if isinstance(case, TrainingCase):
        if record.get("predicted") is not None:
            view["predicted"] = completed(case, record["predicted"], device["name"])
        view["predicted_today"] = predict(case, device)
    if record["outcome"] == "measured":
        view["status"], view["message"] = _state(case, record)
        view |= _measured(case, view)
    return {name: view[name] for name in rules.hints(shape.Record)}


def _device(device: Mapping[str, Any], ran: Mapping[str, Any]) -> dict[str, Any]:
    if device["type"] == "cpu":
        slug = provenance.cpu_slug(ran["cpu"], ran["cores"])
        return {"type": "cpu", "name": ran["cpu"], "slug": slug, "memory": ran["memory"], "power_limit_w": None}
    return {"memory": None, "power_limit_w": None, **device, "slug": provenance.slugify(device["name"] or "")}


def _state(case: Case, record: Mapping[str, Any]) -> tuple[str, str | None]:
    """The status of what was measured, and what spoiled it."""
    repeats = record["provenance"]["repeats"]
    # A GPU's times hardly depend on what else the processors do.
    by_processors = record["device"]["type"] == "cpu" or isinstance(case, TokenizeCase | LoaderCase)
    others = [one["others_share"] for one in repeats if by_processors]
    if not isinstance(case, TrainingCase):
        if (points := record.get("points")) is None:
            return "ok", None
        if slowed := next(filter(None, (abnormal(one["gpu"]) for one in repeats)), None):
            return "throttled", slowed
        told = disturbed(others, [point["samples_s"] for point in points])
        return ("unsettled", told) if told else ("ok", None)
    samples, compiled, diverged = record["samples"], record["compile"], _diverged(case, record["loss"])
    # Benchmark version 0.2 did not judge whether steps were steady.
    judges = record["provenance"]["sources"] is not None
    told = disturbed(others, [samples["step_s"]]) if case.steady else None
    return worst(
        [
            ("unsettled", told) if told else ("ok", None),
            *(
                judged(
                    case,
                    {
                        "diverged_at": diverged[index],
                        "graphs_while_timed": compiled["graphs_while_timed"][index],
                        "settled": samples["warmup_settled"][index] or not judges,
                        "warmup_s": samples["warmup_s"][index],
                        "gpu": repeat["gpu"],
                    },
                )
                for index, repeat in enumerate(repeats)
            ),
        ]
    )


def _diverged(case: TrainingCase, loss: Mapping[str, Any]) -> list[int | None]:
    return [diverged_at(case, loss["curve"]), *loss["diverged_later"]]


def _measured(case: Case, view: Mapping[str, Any]) -> dict[str, Any]:
    """The blocks of a measured case."""
    if isinstance(case, TrainingCase):
        return _training(case, view)
    if view["points"] is not None:
        return {"points": [_point(case, point) for point in view["points"]]}
    if view["fit"] is not None:
        assert isinstance(case, FitCase)
        return {"fit": _fit(case, view)}
    return {"arms": _arms(case, view["device"]["type"], view["arms"])}


def _arms(case: Case, device: str, arms: Mapping[str, Any]) -> dict[str, Any]:
    settings = {name: run["settings"] for name, run in arms["runs"].items()}
    seeds = {
        name: [{**one, "seed": seed} for seed, one in enumerate(run["seeds"], case.seed)]
        for name, run in arms["runs"].items()
    }
    if not isinstance(case, HybridCase):
        return {**arms, **failures.concluded(arms["worse"], settings, seeds)}
    for name, told in settings.items():
        steps = Arm(**told).taken(case.steps)
        for one in seeds[name]:
            points = zip(hybrid.point_steps(steps), one["curve"], strict=False)
            one |= {"steps": steps, "curve": [{**point, "step": step} for step, point in points]}
    clock = "wall" if device == "cuda" else "processor"
    return {**arms, "quality": case.quality, "clock": clock, **hybrid.concluded(case.quality, settings, seeds)}


def _point(case: Case, point: Mapping[str, Any]) -> dict[str, Any]:
    flat = [second for row in point["samples_s"] for second in row]
    work = dict.fromkeys(("flops", "bytes", "tokens")) | dict(point["work"]) | work_of(case, point["settings"])
    seconds = summarize(flat) if flat else None
    rates = {f"{name}_per_s": amount / seconds["median"] if amount is not None and seconds else None
             for name, amount in work.items()}  # fmt: skip
    return {**point, "work": work, "seconds": seconds, "rates": rates}


def work_of(case: Case, settings: Mapping[str, Any]) -> dict[str, int]:
    """What follows of a point's work from its case and its settings."""
    match case:
        case AttentionCase() | RooflineCase():
            return case.work_of(settings) or {}
        case LoaderCase():
            return {"tokens": case.batch * case.sequence}
        case ScalingCase() if "batch" in settings:
            same = {name: getattr(case, name) for name in ("name", "model", "precision", "sequence")}
            step = TrainingCase(**same, batch=settings["batch"], optimizer="adamw", learning_rate=0.0)
            return {"flops": model_flops(step).full, "tokens": step.tokens_per_step}
        case _:
            return {}


def _fit(case: FitCase, view: Mapping[str, Any]) -> dict[str, Any]:
    """What the trials of a search say of each policy."""
    fit, device = view["fit"], view["device"]
    memory = device["memory"] if device["type"] == "cuda" else None
    limit = case.memory_limit if emulates(case, memory) else None
    return {**fit, "policies": found_by_policy(case, fit), "limit": limit}


def found_by_policy(case: FitCase, fit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """For each policy the largest batch that was seen to fit, what ended the search, its peak and its speed."""
    trials = trials_by_policy(fit)
    found = {policy: _found(case, trials.get(policy, [])) for policy in {one["policy"] for one in fit["policies"]}}
    return [{**one, **found[one["policy"]]} for one in fit["policies"]]


def _found(case: FitCase, own: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the trials of one policy say."""
    outcomes = [trial["outcome"] for trial in own]
    broken = [outcome for outcome in outcomes if outcome not in ("fits", "oom")]
    best = max((t for t in own if t["outcome"] == "fits"), key=lambda trial: int(trial["batch"]), default=None)
    return {
        "largest_batch": best["batch"] if best else None,
        # A boundary needs an out-of-memory that was seen.
        "ended": broken[-1] if broken else "boundary" if "oom" in outcomes else "largest-tried",
        "peak": best["peak"] if best else None,
        "tokens_per_s": best["batch"] * case.sequence / best["step_s"] if best else None,
    }


def trials_by_policy(fit: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """The trials of a search by their policy, in their order."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in fit["trials"]:
        found.setdefault(one["policy"], []).append(one)
    return found


_SHAPE = ("layers", "heads", "hidden", "vocab", "max_seq")


def _training(case: TrainingCase, view: Mapping[str, Any]) -> dict[str, Any]:
    samples, curve, name = view["samples"], view["loss"]["curve"], view["device"]["name"]
    flops, last, seconds = training_flops(case), curve[-5:], [second for row in samples["step_s"] for second in row]
    rate = summarize([case.tokens_per_step / second for second in seconds])
    summary = {"step_s": summarize(seconds), "tokens_per_s": rate}
    step = float(summary["step_s"]["median"])
    loss = {
        **view["loss"],
        "diverged_at": _diverged(case, view["loss"]),
        "first": curve[0],
        "last_five_mean": None if None in last else statistics.fmean(last),
    }
    course = view["course"]
    if course is not None:
        course = {
            **course,
            "points": [
                {**point, "step": number * case.validate_every} for number, point in enumerate(course["points"], 1)
            ],
            "divergences": divergences(curve),
            "perplexity": perplexity(course["points"][-1]["validation_loss"]),
        }
    return {
        "model": {**view["model"], **{name: getattr(config_of(case), name) for name in _SHAPE}},
        "summary": summary,
        "flops": flops,
        "utilization": utilization(case, flops, view["ceilings"], name, step),
        "loss": loss,
        "memory": _memory(case, view["memory"], view["device"]["type"]),
        "course": course,
        "energy": _energy(case, view["energy"]),
        "cost": _cost(view["cost"], name, case.tokens_per_step / step),
    }


def _memory(case: TrainingCase, memory: Mapping[str, Any], device: str) -> dict[str, Any]:
    peak, held, cuda = memory["peak"], memory["held"], memory["cuda"]
    return {
        **memory,
        "held": {**held, "optimizer_total": sum(held["optimizer"].values())},
        "at_peak": {**memory["at_peak"], "remainder": peak - sum(memory["at_peak"].values())},
        "tolerance": remainder_tolerance(case, peak, device),
        "cuda": cuda if cuda is None else {**cuda, "allocated_peak": peak},
    }


def _energy(case: TrainingCase, energy: Mapping[str, Any]) -> dict[str, Any]:
    joules = energy["energy_j"]
    return {
        **energy,
        "per_token_j": None if joules is None else joules / (energy["steps"] * case.tokens_per_step),
        "mean_power_w": None if joules is None else joules / energy["window_s"],
    }


def _cost(cost: Mapping[str, Any] | None, name: str | None, tokens_per_s: float) -> dict[str, Any] | None:
    chip = chip_of(name)
    if cost is None:
        return None
    return {
        **cost,
        "usd_per_1e9_tokens": price(cost["usd_per_hour"], tokens_per_s),
        "usd_per_1e9_tokens_today": price(chip.rent.dollars, tokens_per_s) if chip and chip.rent else None,
    }


def price(usd_per_hour: float, tokens_per_s: float) -> float:
    """Dollars for a billion tokens."""
    return usd_per_hour / 3600 / tokens_per_s * 1e9


def divergences(losses: Sequence[float | None]) -> int:
    """Steps whose loss is not finite, or larger than before anything was learned."""
    first = losses[0]
    return sum(loss is None or first is None or loss > first for loss in losses)


def perplexity(loss: float | None) -> float | None:
    """Among how many equally likely tokens a loss in nats per token leaves the choice."""
    return None if loss is None else math.exp(loss)


def training_flops(case: TrainingCase) -> dict[str, int]:
    """The block `flops` of a step."""
    needed, again, size = model_flops(case), recomputed_flops(case), shape_of(case, padded=False)
    in_blocks = 12 * size.layers * size.hidden**2
    return {
        "model_per_step": needed.full,
        "model_per_step_causal": needed.causal,
        "recomputed_per_step": again,
        "fp8_per_step": 6 * in_blocks * case.tokens_per_step if case.precision.startswith("fp8") else 0,
    }


def utilization(
    case: TrainingCase, flops: Mapping[str, int], ceilings: Sequence[Mapping[str, Any]], name: str | None, step_s: float
) -> dict[str, Any]:
    """Model FLOP/s of a step of `step_s` seconds, and its share of what the chip could do; unknown peak, null.

    Two conventions count attention: the whole square of scores, and its causal half, which is what kernels need. With
    long sequences the first can pass a peak that no kernel passed; its shares are null then.

    FP8 runs some products in 8 and the others in 16 bit. Over the BF16 peak that is a BF16 equivalent, which can exceed
    1, and not an MFU. `formats_share` is the time that all products would take at the data sheet's peak of their own
    format, over the time they took.
    """
    own = compute_format(case.precision)
    fp8 = own == "fp8"
    main = "bf16" if fp8 else own
    specified, fp8_peak = format_peak(name, main), format_peak(name, "fp8") if fp8 else None
    full, causal = flops["model_per_step"] / step_s, flops["model_per_step_causal"] / step_s
    again = flops["recomputed_per_step"] / step_s
    matmul = ceiling(ceilings, main)
    eight, other = flops["fp8_per_step"], flops["model_per_step_causal"] - flops["fp8_per_step"]
    own_peak = None if fp8 else specified
    mfu, mfu_causal = _shares(full, causal, own_peak)
    return {
        "model_flops_per_s": full,
        "model_flops_per_s_causal": causal,
        "peak_format": main,
        "specified_peak": specified,
        "matmul_ceiling": matmul,
        "fp8_matmul_ceiling": ceiling(ceilings, "fp8"),
        "mfu": mfu,
        "mfu_causal": mfu_causal,
        "hfu": _shares(full + again, causal + again, own_peak)[0],
        "bf16_equivalent": _shares(full, causal, specified if fp8 else None, equivalent=True)[0],
        "matmul_share": _shares(full, causal, matmul, equivalent=fp8)[0],
        "formats_share": (eight / fp8_peak + other / specified) / step_s if fp8 and fp8_peak and specified else None,
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
