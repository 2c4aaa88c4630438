"""How the runs of a failure begin, by which the measurements of one run are told from those of another.

All runs of a seed start from equal weights on one thread of a processor, where all machines round alike. So runs that
compute alike have equal first losses. Runs that begin alike in all that a record says of them cannot be told apart:
only training them again could.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from gpu_bench.experiments.failures.case import FailureCase
from gpu_bench.experiments.failures.recipes import Recipe, planned


def starts_faults(case: FailureCase, runs: Mapping[str, Any]) -> Iterator[str]:
    """What shows that runs with the names and settings of the case's have the measurements of others, a line each."""
    for name, (recipe, counted) in planned(case.failure, case.shortened).items():
        for one in runs[name]["seeds"]:
            where = f"run {name!r}, seed {one['seed']}"
            if {*one["curves"]} != {*recipe.curves}:
                yield f"{where}: its curves are {', '.join(one['curves'])}; allowed: {', '.join(recipe.curves)}"
            if one["every"] != recipe.every:
                yield f"{where}: every is {one['every']}; allowed: {recipe.every}"
            steps, wanted = [each["step"] for each in one["histograms"]], sorted({*counted} & {*range(recipe.steps)})
            if steps != wanted:
                yield f"{where}: its histograms are of steps {steps}; allowed: {wanted}"
    for first, other in combinations(case.arms.items(), 2):
        if _computing(first[1]) == _computing(other[1]):
            yield from _pair_faults(first, other, runs)


def _computing(recipe: Recipe) -> Recipe:
    """What decides the first loss: a run's role, how fast it goes on and what repairs it come later."""
    return replace(
        recipe, role="reference", learning_rate=0.0, warmup=0, steps=1, clip=None, outlier_step=None, momentum=0.0
    )


def _pair_faults(first: tuple[str, Recipe], other: tuple[str, Recipe], runs: Mapping[str, Any]) -> Iterator[str]:
    (name, recipe), (beside, another) = first, other
    if 0 in (recipe.outlier_step, another.outlier_step):
        return
    for one, two in zip(runs[name]["seeds"], runs[beside]["seeds"], strict=True):
        found, wanted = (each["curves"]["loss"][0] for each in (one, two))
        if found != wanted:
            yield (
                f"seed {one['seed']}: the first losses of runs {name!r} and {beside!r} are {found} and {wanted}; "
                "allowed: equal ones, because both compute alike"
            )
