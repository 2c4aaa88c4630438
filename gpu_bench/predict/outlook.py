"""What the engine predicts for cases on a GPU that need not be here: a table, and curves of memory and speed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_bench.cases.card import FIT, trial
from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.cases.kinds import FitCase
from gpu_bench.cases.sizes import MODELS, SIZE_NAMES
from gpu_bench.predict.prediction import predict, predicted_peak, predicted_seconds
from gpu_bench.record.tables import ABSENT, Table, number
from ironlaw.hardware.accelerators import DRIVER_NAMES
from ironlaw.memory.ledger import CUDA_CONTEXT

_GIB = 2**30


def device_name(text: str) -> str:
    """The driver's name of a GPU from that name or the engine's, e.g. `h200`. Raises `ValueError`."""
    found = [name for name, short in DRIVER_NAMES.items() if text in (name, short)]
    if not found:
        raise ValueError(f"GPU {text!r} is not known; allowed: {', '.join(sorted(DRIVER_NAMES.values()))}")
    return found[0]


def prediction_table(cases: Iterable[tuple[str, Case]], gpu: str) -> Table:
    """Step time, throughput, utilization and peak of every training case on a GPU, with what was approximated."""
    name = device_name(gpu)
    rows = []
    for suite, case in cases:
        if not isinstance(case, TrainingCase):
            continue
        told = predict(case, {"type": "cuda", "name": name})
        memory = told["memory"] or {}
        rows.append(
            (
                f"{suite}/{case.name}",
                number(told["step_s"], 1, 1e3),
                number(told["tokens_per_s"], 0),
                number(told["mfu"], 1, 100),
                number(memory.get("peak"), 2, 1 / _GIB),
                "; ".join(told["approximations"]) or ABSENT,
            )
        )
    head = ("case", "step ms", "tokens/s", "MFU %", "peak GiB", "approximations")
    return Table(f"The engine's prediction for one {name}", head, tuple(rows))


_OF_THE_RUN = {
    "name", "batch", "repeats", "device", "devices", "minimum_memory", "time_limit_s", "seed", "learning_rate",
    "warmup", "steps", "energy_s", "memory_limit",
}  # fmt: skip
"""Fields of a training case that say how it was measured, not how it trains."""


@dataclass(frozen=True)
class Point:
    """One batch by the engine."""

    batch: int  # Sequences per step
    memory: int  # Bytes that the process holds at its peak, the CUDA context included
    tokens_per_s: float  # Speed on the card


@dataclass(frozen=True)
class Curve:
    """One size of GPT-2 under one policy, over the batches of the suite."""

    size: str  # As the suites call it, e.g. `124m`
    policy: str  # A name from `card.POLICIES`
    limit: int  # Bytes that programs can allocate on the card
    points: tuple[Point, ...]  # Ascending in the batch

    @property
    def fitting(self) -> tuple[Point, ...]:
        """The batches that the card has room for."""
        return tuple(point for point in self.points if point.memory <= self.limit)

    @property
    def largest(self) -> Point | None:
        """The largest batch that fits; None when not even the smallest does."""
        return max(self.fitting, key=lambda point: point.batch, default=None)


def fit_cases(gigabytes: int) -> tuple[FitCase, ...]:
    """The cases of an emulated card, from the smallest model on. Raises `ValueError` for an unknown card."""
    found = {case.model: case for case in FIT if case.name.startswith(f"fit-{gigabytes}gb-")}
    if not found:
        raise ValueError(f"no card of {gigabytes} GB is emulated; allowed: 16")
    return tuple(found[model] for model in MODELS)


def curve(case: FitCase, policy: str) -> Curve:
    """The engine's prediction for every batch of the case. Raises `ValueError` for a card or a policy without one."""
    card, points = device_name(case.card), []
    for batch in case.batches:
        training = trial(case, policy, batch)
        peak, seconds = predicted_peak(training, "cuda"), predicted_seconds(training, card)
        if peak is None or seconds is None:
            raise ValueError(f"the engine has no prediction of {training.name}")
        points.append(Point(batch, peak + CUDA_CONTEXT, training.tokens_per_step / seconds))
    return Curve(SIZE_NAMES[case.model], policy, case.memory_limit, tuple(points))


def measured_memory(case: FitCase, policy: str, records: Iterable[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Batches that trained on the emulated card, and bytes at their peak, the context included."""
    fits = [one["fit"] for one in records if one["name"] == case.name and one["fit"] is not None]
    return sorted(
        (one["batch"], one["peak"] + (CUDA_CONTEXT if fit["context"] is None else fit["context"]))
        for fit in fits
        for one in fit["trials"]
        if one["policy"] == policy and one["outcome"] == "fits" and one["peak"] is not None
    )


def measured_speed(case: FitCase, policy: str, records: Iterable[Mapping[str, Any]]) -> list[tuple[int, float]]:
    """Batches and tokens/s of every record that trains so on the card itself: an emulated card has no speed."""
    card, wanted = device_name(case.card), _how(trial(case, policy, 1).as_dict())
    return sorted(
        (one["case"]["batch"], one["summary"]["tokens_per_s"]["median"])
        for one in records
        if one["summary"] is not None and one["device"]["name"] == card and _how(one["case"]) == wanted
    )


def _how(case: Mapping[str, Any]) -> dict[str, Any]:
    """How a training case trains: all that speed depends on, but for the batch."""
    return {name: value for name, value in case.items() if name not in _OF_THE_RUN}
