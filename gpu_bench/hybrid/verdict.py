"""What follows from the runs of the evaluation, by the rule of `arms`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from gpu_bench.hybrid.arms import QUALITY, SPEEDUP

_STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
"""Two-sided 95 % points of Student's t by degrees of freedom."""
PLAIN = "plain"


def joined(repeats: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The block `arms` of a record, from what the repeats report, each of another seed."""
    first = repeats[0]
    seeds = {name: [repeat["runs"][name]["seed"] for repeat in repeats] for name in first["runs"]}
    settings = {name: run["settings"] for name, run in first["runs"].items()}
    return {"data": first["data"], **concluded(settings, seeds)}


def concluded(
    settings: Mapping[str, Mapping[str, Any]], seeds: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    """The runs with everything that follows from what was measured, and the verdict."""
    controls = [name for name, one in settings.items() if one["control"]]
    runs: dict[str, dict[str, Any]] = {}
    for name, measured in seeds.items():
        against = {one: interval(_log_losses(measured), _log_losses(seeds[one])) for one in (PLAIN, *controls)}
        runs[name] = {
            "settings": dict(settings[name]),
            "seeds": list(measured),
            "summary": _summary(measured, seeds[PLAIN]) | {"against": against},
        }
    judged = [name for name, one in settings.items() if one["predictor"] not in ("none", "no-op")]
    for name, run in runs.items():
        run["summary"]["helps"] = _helps(run["summary"], controls) if name in judged else None
    helping = [name for name in judged if runs[name]["summary"]["helps"]]
    divergences = sum(seed["told"]["divergences"] for name in judged for seed in seeds[name])
    verdict = {"judged": len(judged), "helping": len(helping), "divergences": divergences}
    for part, best in (("fast_enough", "fast"), ("good_enough", "good"), ("beat_controls", "beats")):
        verdict[part] = sum(_parts(runs[name]["summary"], controls)[best] for name in judged)
    return {"runs": runs, "verdict": verdict}


def _summary(measured: Sequence[Mapping[str, Any]], plain: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    pairs = list(zip(measured, plain, strict=True))
    losses = [one["test"]["loss"] for one in measured]
    return {
        "test_loss": None if None in losses else statistics.median(losses),
        "accuracy": statistics.median(one["test"]["accuracy"] for one in measured),
        "cpu_s": statistics.median(one["cpu_s"] for one in measured),
        "computed": statistics.median(one["told"]["computed"] / one["steps"] for one in measured),
        "speedup": statistics.median(base["cpu_s"] / own["cpu_s"] for own, base in pairs),
        "bound": statistics.median(base["steps"] / own["told"]["computed"] for own, base in pairs),
        "worse": None
        if None in losses
        else statistics.median(own["test"]["loss"] / base["test"]["loss"] for own, base in pairs),
    }


def _log_losses(measured: Sequence[Mapping[str, Any]]) -> list[float | None]:
    return [None if one["test"]["loss"] is None else math.log(one["test"]["loss"]) for one in measured]


def interval(own: Sequence[float | None], other: Sequence[float | None]) -> dict[str, float | None]:
    """Mean and 95 % interval (Student's t) of paired differences; all None where a value is, or there is one pair."""
    pairs = list(zip(own, other, strict=True))
    differences = [a - b for a, b in pairs if a is not None and b is not None]
    if len(differences) < len(pairs) or len(differences) < 2:
        return {"mean": None, "low": None, "high": None}
    mean = statistics.fmean(differences)
    reach = _STUDENT[len(differences) - 1] * statistics.stdev(differences) / math.sqrt(len(differences))
    return {"mean": mean, "low": mean - reach, "high": mean + reach}


def _parts(summary: Mapping[str, Any], controls: Sequence[str]) -> dict[str, bool]:
    highs = [summary["against"][name]["high"] for name in controls]
    return {
        "fast": summary["speedup"] >= SPEEDUP,
        "good": summary["worse"] is not None and summary["worse"] <= QUALITY,
        "beats": all(high is not None and high < 0 for high in highs),
    }


def _helps(summary: Mapping[str, Any], controls: Sequence[str]) -> bool:
    return all(_parts(summary, controls).values())
