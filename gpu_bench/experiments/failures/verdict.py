"""What follows from the runs of a failure: which failed, and what share of the gradients each format loses."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ironlaw.numerics.formats import float_format

FORMATS = ("fp16", "bf16", "fp8-e4m3", "fp8-e5m2")


def concluded(
    worse: float, settings: Mapping[str, Mapping[str, Any]], seeds: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    """The runs, from their settings and their seeds' measurements, with everything that follows, and the verdict.

    For `worse` see `recipes.Failure`.
    """
    reference = next(name for name, one in settings.items() if one["role"] == "reference")
    runs: dict[str, dict[str, Any]] = {}
    for name, measured in seeds.items():
        pairs = zip(measured, seeds[reference], strict=True)
        failed = [_failed(own["test"]["loss"], plain["test"]["loss"], worse) for own, plain in pairs]
        runs[name] = {
            "settings": dict(settings[name]),
            "seeds": [{**one, "histograms": [_told(each) for each in one["histograms"]]} for one in measured],
            "summary": {
                "failed": sum(failed),
                "trained": len(failed),
                "test_loss": _median(one["test"]["loss"] for one in measured),
                "accuracy": _median(one["test"].get("accuracy") for one in measured),
                "cpu_s": _median(one["cpu_s"] for one in measured),
            },
        }
    verdict = {}
    for role in ("failure", "cure"):
        chosen = [run["summary"] for name, run in runs.items() if settings[name]["role"] == role]
        verdict[role] = {name: sum(one[name] for one in chosen) for name in ("failed", "trained")}
    return {"reference": reference, "runs": runs, "verdict": verdict}


def _failed(loss: float | None, plain: float | None, worse: float) -> bool:
    """Whether a run failed beside its reference of the same seed, by the losses on tested digits."""
    return loss is None or (plain is not None and loss > worse * plain)


def _median(values: Any) -> float | None:
    """The median; None where one of the values is."""
    found = list(values)
    return None if None in found else statistics.median(found)


def _told(histogram: Mapping[str, Any]) -> dict[str, Any]:
    """A histogram with the share of the gradients that each format rounds to zero."""
    counts, lowest = histogram["counts"], histogram["lowest"]
    return {**histogram, "lost": {name: lost(counts, lowest, name) for name in FORMATS}}


def lost(counts: Sequence[int], lowest: int, name: str) -> float:
    """The share of numbers that a format rounds to zero; bin k counts 2^(k-1) < |g| <= 2^k, the first of them `lowest`.

    A number becomes zero if it is at most half the smallest one of the format, a power of two: so this is exact.
    """
    form, total = float_format(name), sum(counts)
    gone = sum(count for k, count in enumerate(counts, lowest) if 2.0**k <= form.smallest_subnormal / 2)
    return gone / total if total else 0.0
