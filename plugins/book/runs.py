"""What a figure draws of measured trainings: the runs of a record, each seed as a thin line."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from matplotlib.axes import Axes

from gpu_bench.record.load import valid
from gpu_bench.record.store import RESULTS
from plugins.book.moving import Control
from plugins.shared.svg import INK


def compared(suite: str, case: str) -> Mapping[str, Any]:
    """The block `arms` of the record of a case; of the first device where several have measured it.

    Raises:
        LookupError: Nothing is measured.
    """
    files = sorted((RESULTS / suite).glob(f"{case}--*.json"))
    if not files:
        raise LookupError(f"no record of {suite}/{case}; measure it with 'python -m gpu_bench run --suite {suite}'")
    ((_, record),) = valid(files[:1])
    block: Mapping[str, Any] = record["arms"]
    return block


def seeds_of(block: Mapping[str, Any]) -> Control:
    """The choice of a seed, to be one of a figure's `CONTROLS`: all of them at first, or one."""
    first = next(iter(block["runs"].values()))
    names = tuple(str(one["seed"]) for one in first["seeds"])
    return Control("seed", "Seed", (None, *range(len(names))), ("all", *names), None, buttons=True)


def curve(
    axes: Axes,
    block: Mapping[str, Any],
    run: str,
    ink: str,
    line: str = "-",
    *,
    name: str = "loss",
    by: str = "step",
    seed: int | None = None,
) -> None:
    """Draw a curve of a run for every seed. A point that is not finite ends its line with a cross.

    Args:
        axes: Where.
        block: What `compared` gives.
        run: Which run.
        ink: A color of the site.
        line: Style of the line.
        name: Which curve.
        by: Along `step` or `images`.
        seed: The place of the only seed that is drawn; None for all.
    """
    settings = block["runs"][run]["settings"]
    unit = settings["batch"] if by == "images" else 1
    for number, one in enumerate(block["runs"][run]["seeds"]):
        values = one["curves"][name]
        end = next((index for index, value in enumerate(values) if value is None), len(values))
        steps = [index * one["every"] * unit for index in range(len(values))]
        shown = [value if value is not None else float("nan") for value in values]
        if seed not in (None, number):
            # Not drawn, yet the axes stay where they are for all seeds together.
            axes.update_datalim([pair for pair in zip(steps, shown, strict=True) if isfinite(pair[1])])
            continue
        label = None if number and seed is None else run
        axes.plot(steps, shown, color=INK[ink], linestyle=line, linewidth=0.9 if seed is None else 1.4, label=label)
        if end and all(value is None for value in values[end:]) and end < len(values):
            axes.plot(steps[end - 1], shown[end - 1], marker="X", color=INK[ink], markersize=6, clip_on=False)


def told(block: Mapping[str, Any], *runs: str, seed: int | None = None) -> str:
    """In words, what became of runs: their loss on tested digits, and how many seeds failed.

    Args:
        block: What `compared` gives.
        runs: Which runs.
        seed: The place of the only seed that is told of; None for all.
    """
    parts = []
    for run in runs:
        summary, seeds = block["runs"][run]["summary"], block["runs"][run]["seeds"]
        found = summary["test_loss"] if seed is None else seeds[seed]["test"]["loss"]
        loss = "no finite loss" if found is None else f"a loss of {found:.3g}"
        failed = f", {summary['failed']} of {summary['trained']} seeds failed" if seed is None else ""
        parts.append(f"{run} ends with {loss}{failed}")
    who = "" if seed is None else f"with seed {seeds[seed]['seed']} alone, "
    return who + "; ".join(parts)


def likeness(block: Mapping[str, Any], run: str, what: str) -> tuple[list[int], list[float]]:
    """Steps ahead, and over all seeds the mean `cosine` or `error` of the updates predicted so far ahead.

    Distances at which not every seed compared a step are left out.
    """
    found: dict[int, list[tuple[int, float]]] = {}
    seeds = block["runs"][run]["seeds"]
    for seed in seeds:
        for one in seed["told"]["horizons"]:
            if one[what] is not None:
                found.setdefault(one["ahead"], []).append((one["compared"], one[what]))
    kept = {ahead: pairs for ahead, pairs in sorted(found.items()) if len(pairs) == len(seeds)}
    means = [sum(n * value for n, value in pairs) / sum(n for n, _ in pairs) for pairs in kept.values()]
    return list(kept), means
