"""What follows from the runs of the evaluation, by the rule of `arms`."""

from __future__ import annotations

import functools
import math
import operator
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpu_bench.experiments.hybrid.arms import HARMLESS, NEAR, PLANNED, QUALITY, SPEEDUP
from gpu_bench.experiments.hybrid.schedule import COMPUTED, Phase

_STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
"""Two-sided 95 % points of Student's t by degrees of freedom."""
PLAIN = "plain"
POINTS = 60
"""Points of a curve."""


def point_steps(steps: int) -> range:
    """The steps of a run that are points of its curve."""
    return range(0, steps, max(1, steps // POINTS))


def speedup(steps: Mapping[Phase, int], seconds: Mapping[Phase, float], extra: float) -> float:
    """Wall-clock speed-up: what all steps would have taken at the pace of the computed ones, over what they took.

    Steps and seconds are by phase. Prediction's own work in computed steps, `extra` seconds, counts as time taken, not
    as their pace. 1 before the first step.
    """
    computed, taken = sum(steps[phase] for phase in COMPUTED), _added(seconds.values())
    if not computed or not taken:
        return 1.0
    return (_added(seconds[phase] for phase in COMPUTED) - extra) / computed * sum(steps.values()) / taken


def _added(seconds: Iterable[float]) -> float:
    """The sum of seconds, rounded after every addition, as `sum` does until Python 3.11; from 3.12 on it rounds less.

    A record holds the quotient, and every Python that checks it must come to the same bits.
    """
    return functools.reduce(operator.add, seconds, 0.0)


def told(measured: Mapping[str, Any]) -> dict[str, Any]:
    """What a trainer counted, with what follows from it."""
    steps = measured["phases"]
    return {
        **measured,
        "computed": sum(steps[phase] for phase in COMPUTED),
        "speedup": speedup(steps, measured["phase_seconds"], measured["extra_seconds"]),
    }


def concluded(
    quality: str, settings: Mapping[str, Mapping[str, Any]], seeds: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    """The runs, from their settings and their seeds' measurements, with everything that follows, and the verdict.

    `quality` is what is compared, the `loss` or the `perplexity`, which is e to the loss.
    """
    seeds = {name: [{**one, "told": told(one["told"])} for one in measured] for name, measured in seeds.items()}
    controls = [name for name, one in settings.items() if one["control"]]
    logs = {name: _logs(measured, quality) for name, measured in seeds.items()}
    runs: dict[str, dict[str, Any]] = {}
    for name, measured in seeds.items():
        against = {one: interval(logs[name], logs[one]) for one in (PLAIN, *controls)}
        runs[name] = {
            "settings": dict(settings[name]),
            "seeds": measured,
            "summary": {
                **_summary(settings[name]["larger"], measured, seeds[PLAIN]),
                "worse": _worse(logs[name], logs[PLAIN]),
                "against": against,
            },
        }
    # Without controls, as where options of memory are compared, no run can be said to help.
    judged = [name for name, one in settings.items() if controls and one["predictor"] not in ("none", "no-op")]
    if "memory" in seeds[PLAIN][0]:
        base = _most(seeds[PLAIN], "computed")
        for name, run in runs.items():
            run["summary"]["memory"] = _memory(name, settings[name], seeds[name], base, run["summary"]["worse"])
    for name, run in runs.items():
        run["summary"]["helps"] = all(_parts(run["summary"], controls).values()) if name in judged else None
    helping = [name for name in judged if runs[name]["summary"]["helps"]]
    divergences = sum(seed["told"]["divergences"] for name in judged for seed in seeds[name])
    verdict = {"judged": len(judged), "helping": len(helping), "divergences": divergences}
    for part, best in (("fast_enough", "fast"), ("good_enough", "good"), ("beat_controls", "beats")):
        verdict[part] = sum(_parts(runs[name]["summary"], controls)[best] for name in judged)
    return {"runs": runs, "verdict": verdict}


def _summary(larger: int, measured: Sequence[Mapping[str, Any]], plain: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    pairs = list(zip(measured, plain, strict=True))
    losses = [one["test"]["loss"] for one in measured]
    peaks = [one["memory_peak"] for one in measured]
    return {
        "test_loss": None if None in losses else statistics.median(losses),
        "accuracy": statistics.median(one["test"]["accuracy"] for one in measured),
        "seconds": statistics.median(one["seconds"] for one in measured),
        "memory_peak": None if None in peaks else max(peaks),
        "computed": statistics.median(one["told"]["computed"] / one["steps"] for one in measured),
        "speedup": statistics.median(base["seconds"] / own["seconds"] for own, base in pairs),
        "bound": statistics.median(base["steps"] / (own["told"]["computed"] * larger) for own, base in pairs),
    }


def _most(measured: Sequence[Mapping[str, Any]], what: str) -> int:
    """The largest value of all seeds; 0 where none has one."""
    return max(one["memory"][what] or 0 for one in measured)


def _memory(
    name: str, settings: Mapping[str, Any], measured: Sequence[Mapping[str, Any]], base: int, worse: float | None
) -> dict[str, Any]:
    """Bytes of a run with some options of memory, compared with the plan's expectation."""
    computed, predicted = _most(measured, "computed"), _most(measured, "predicted")
    peak = predicted if settings["optimizer_state"] != "keep" else max(computed, predicted)
    planned = PLANNED.get(name)
    return {
        "computed": computed,
        "predicted": predicted or None,
        "elsewhere": _most(measured, "elsewhere"),
        "share": peak / base,
        "planned": planned,
        "as_planned": None if planned is None else abs(peak / base / planned - 1) <= NEAR,
        "harmless": worse is not None and worse <= HARMLESS,
    }


def _worse(own: Sequence[float | None], plain: Sequence[float | None]) -> float | None:
    """The median ratio of two qualities from their logarithms; None where one is not finite."""
    differences = [a - b for a, b in zip(own, plain, strict=True) if a is not None and b is not None]
    return math.exp(statistics.median(differences)) if len(differences) == len(own) else None


def _logs(measured: Sequence[Mapping[str, Any]], quality: str) -> list[float | None]:
    """The logarithm of each seed's quality; None where it is not finite."""
    losses = [one["test"]["loss"] for one in measured]
    return [loss if loss is None or quality == "perplexity" else math.log(loss) for loss in losses]


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
