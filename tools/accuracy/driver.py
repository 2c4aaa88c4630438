"""The memory that the driver shows, predicted by adding one mechanism at a time, to show what each contributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache

from ironlaw import GIB
from ironlaw.memory.deepspeed import overheads
from tools.accuracy.predict import Comparison, context_bytes, step_ledger
from tools.accuracy.report import Summary, report, summarize
from tools.accuracy.rows import Row
from tools.accuracy.setups import row_setup

GROUP = "device memory"

READ_AFTERWARDS = "memory only"
"""Words in a source's `where` if its rows were read, and first predicted, after the engine's terms were fixed."""

RUNS: tuple[tuple[str, Callable[[Row], bool]], ...] = (
    ("FP16", lambda row: not _late(row) and row.get("precision") == "mixed"),
    ("BF16", lambda row: not _late(row) and row.get("precision") == "deepspeed"),
    ("FP16, read afterwards", lambda row: _late(row)),
)
"""Kinds of runs whose memory the driver reported."""


@dataclass(frozen=True)
class Step:
    """Errors with the mechanisms up to this one counted, by kind of run."""

    mechanism: str
    summaries: tuple[Summary, ...]


def _one_format(row: Row) -> float:
    settings = dict(row.settings)
    if settings["precision"] == "deepspeed":
        # Megatron's precision keeps sums in place of gradients. DeepSpeed's runtime does not take it.
        settings |= {"precision": "megatron", "runtime": "none"}
    return _both_formats(replace(row, settings=settings))


def _both_formats(row: Row) -> float:
    ledger = step_ledger(row)
    return float(ledger.allocated_peak + ledger.plan.context_bytes)


def _context(row: Row) -> float:
    ledger = step_ledger(row)
    return float(ledger.allocated_peak) + context_bytes(row, ledger)


def _staging(row: Row) -> float:
    return _context(row) + overheads(row_setup(row)).staging


def _communicators(row: Row) -> float:
    return _staging(row) + overheads(row_setup(row)).communicators


MECHANISMS: tuple[tuple[str, Callable[[Row], float]], ...] = (
    ("Tensors, gradients in one format; a context of 512 MiB", _one_format),
    ("16-bit gradients beside their FP32 sums", _both_formats),
    ("The context that the source measured", _context),
    ("Segments of the optimizer's contiguous copies", _staging),
    ("NCCL's communicators", _communicators),
)
"""Each with the bytes that a device holds when it and all before it are counted."""


@cache
def steps() -> tuple[Step, ...]:
    """The mechanisms in order, each counted on top of those before it."""
    rows = by_deepspeed()
    return tuple(Step(name, tuple(_summaries(rows, held))) for name, held in MECHANISMS)


def by_deepspeed() -> tuple[Comparison, ...]:
    """The comparisons whose runs trained with Megatron and DeepSpeed, whose mechanisms these are."""
    return tuple(c for c in report().of(GROUP) if c.row.get("runtime") == "deepspeed")


def _summaries(rows: Iterable[Comparison], held: Callable[[Row], float]) -> Iterable[Summary]:
    counted = [replace(c, predicted=held(c.row) / GIB) for c in rows]
    return (summarize(GROUP, (c for c in counted if chosen(c.row))) for _, chosen in RUNS)


def _late(row: Row) -> bool:
    return READ_AFTERWARDS in row.source.where
