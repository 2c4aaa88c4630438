"""Whether a repeat measured a result, or what spoiled it: judged when it ends, and whenever a record is read."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpu_bench.cases.case import TrainingCase
from gpu_bench.cases.sizes import config_of
from gpu_bench.machine.nvml import throttled
from gpu_bench.machine.quiet import QUIET_SHARE

SPOILED = ("throttled", "unsettled", "recompiled", "diverged")
"""States of a record that holds measurements which something spoiled, from the least to the worst."""
MEASURED = ("ok", *SPOILED)
"""States of a record that holds measurements."""
FAR_ABOVE_GUESSING = 4.0
"""A loss of more than so many times that of guessing counts as diverged, though it is finite."""
NO_MEMORY = (
    # The CPU's allocator, C++'s own, and Python's.
    "DefaultCPUAllocator: can't allocate",
    "std::bad_alloc",
    "MemoryError",
    # CUDA, Triton's launcher and NCCL, where they allocate without PyTorch's allocator; then its libraries.
    "out of memory",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "cudaErrorMemoryAllocation",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUSOLVER_STATUS_ALLOC_FAILED",
)
"""Words of a message by which memory that ran out is known."""
MOST_APART = 1.5
"""Repeats on a quiet machine are closer than this factor, half of all points at least: a cache may hold one or not."""


def guessing(case: TrainingCase) -> float:
    """The loss of a model that knows nothing, in nats per token."""
    return math.log(config_of(case).vocab)


def diverged_at(case: TrainingCase, losses: Sequence[float | None]) -> int | None:
    """The first step whose loss is not finite, or far above guessing; None without one."""
    most = FAR_ABOVE_GUESSING * guessing(case)
    return next((step for step, loss in enumerate(losses) if loss is None or loss > most), None)


def judged(case: TrainingCase, repeat: Mapping[str, Any]) -> tuple[str, str | None]:
    """The status of a repeat that ran to its end, and why it is not `ok`: the worst of what can be wrong counts.

    Of the repeat it needs `diverged_at`, `graphs_while_timed`, `settled`, `warmup_s` and `gpu`.
    """
    if repeat["diverged_at"] is not None:
        return "diverged", f"the loss of step {repeat['diverged_at'] + 1} is not finite, or far above guessing"
    if repeat["graphs_while_timed"]:
        return "recompiled", f"{repeat['graphs_while_timed']} graphs were compiled during the timed steps"
    if case.steady and not repeat["settled"]:
        return "unsettled", f"step times were not steady after {len(repeat['warmup_s'])} warm-up steps"
    slowed = throttled(repeat["gpu"])
    return ("throttled", slowed) if slowed else ("ok", None)


def disturbed(others: Iterable[float | None], times: Iterable[Sequence[Sequence[float]]]) -> str | None:
    """Why times are not those of a quiet machine; None where nothing shows it.

    `others` are the shares of the processors that other programs took, one for each repeat, None where that is not
    known or does not matter; `times` are the samples of each thing that was timed, a list for each repeat.
    """
    most = max((share for share in others if share is not None), default=0.0)
    if most > QUIET_SHARE:
        return f"others took {most:.0%} of the processors"
    medians = [[statistics.median(row) for row in rows if row] for rows in times]
    apart = statistics.median([max(row) / min(row) for row in medians if row] or [1.0])
    return f"the slowest repeat took {apart:.1f} times as long as the fastest" if apart > MOST_APART else None


def worst(states: Sequence[tuple[str, str | None]]) -> tuple[str, str | None]:
    """The worst of the repeats' states, with its message."""
    return max(states, key=lambda state: MEASURED.index(state[0]))
