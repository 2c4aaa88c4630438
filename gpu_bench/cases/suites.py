"""All cases that there are, by suite, and how to find one. Nothing here imports PyTorch, so `list` is instant."""

from __future__ import annotations

from gpu_bench.cases import (
    activations,
    attention,
    batch,
    checkpointing,
    energy,
    fit,
    ladder,
    memory,
    optimizers,
    pipeline,
    precision,
    roofline,
    scaling,
    smoke,
    validation,
)
from gpu_bench.cases.case import Case
from gpu_bench.cases.kinds import case_from_dict
from gpu_bench.cases.tiny import tiny

__all__ = ["SUITES", "TINY", "Case", "case_from_dict", "find_cases"]

SUITES: dict[str, tuple[Case, ...]] = {
    "smoke": smoke.SMOKE,
    "gpt2": smoke.GPT2,
    "ladder": ladder.LADDER,
    "optimizers": optimizers.OPTIMIZERS,
    "precision": precision.PRECISION,
    "checkpointing": checkpointing.CHECKPOINTING,
    "attention": attention.ATTENTION,
    "batch": batch.BATCH,
    "pipeline": pipeline.PIPELINE,
    "activations": activations.ACTIVATIONS,
    "roofline": roofline.ROOFLINE,
    "fit": fit.FIT,
    "card": fit.CARD,
    "energy": energy.ENERGY,
    "memory": memory.MEMORY,
    "scaling": scaling.SCALING,
    "validation": validation.VALIDATION,
}
"""Suite name -> its cases, in the order of the page of measurements; `value` says which are run first."""

TINY: dict[str, tuple[Case, ...]] = {f"{suite}-tiny": tiny(cases) for suite, cases in SUITES.items()}
"""The same suites in shapes that two CPU cores train in seconds: for trying everything out, by the same code."""


def find_cases(suite: str | None, names: tuple[str, ...]) -> tuple[tuple[str, Case], ...]:
    """Pairs of suite name and case for what was asked: a suite, single cases by name, or the named cases of a suite.

    `all` is every suite, its cases by value, the most valuable first. Tiny cases are found by their suite only.

    Raises:
        ValueError: When a name does not exist; the message says what exists.
    """
    if suite not in (None, "all", *SUITES, *TINY):
        raise ValueError(f"suite {suite!r} does not exist; allowed: {', '.join([*SUITES, *TINY, 'all'])}")
    groups = {suite: TINY[suite]} if suite in TINY else SUITES
    pool = [(key, case) for key, cases in groups.items() if suite in (key, None, "all") for case in cases]
    # Sorting keeps the order of equals, which is that of the section.
    pool.sort(key=lambda pair: -pair[1].value)
    known = {case.name for _, case in pool}
    for name in names:
        if name not in known:
            raise ValueError(f"case {name!r} does not exist; allowed: {', '.join(sorted(known))}")
    return tuple((key, case) for key, case in pool if not names or case.name in names)
