"""The first hour on a GPU: few cases, each in little time, in the order of what is worth most, for four sizes of card.

Windows are short (5 s warm, 10 s timed, two repeats in the order A B B A) and every record says so in its case. An hour
begins with two checks, one repeat each, of memory and of the newest code; the repeat counts. Then come the products of
the model's shapes, the best recipe beside the plain one and FP8 beside the best, the questions of a thousand steps, and
a boundary of 16 GB. Batches for smaller cards are ones that fit by the engine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpu_bench.cases.card import fit_case
from gpu_bench.cases.case import Case, ModelName, TrainingCase
from gpu_bench.cases.kinds import RooflineCase
from gpu_bench.cases.ladder import LADDER, PLAIN_RECIPE
from gpu_bench.cases.sizes import SIZE_NAMES, SIZES, UNTIMED, on_gpu

_SHORT: dict[str, Any] = {
    "warm_s": 5.0, "timed_s": 10.0, "steps": 10, "repeats": 2, "time_limit_s": 420.0, "energy_s": 0.0
}  # fmt: skip
_ONCE: dict[str, Any] = {
    **UNTIMED, "batch": 4, "warmup": 2, "steps": 5, "repeats": 1, "steady": False, "time_limit_s": 180.0
}  # fmt: skip
_QUICK: dict[str, Any] = {"compile": "default", "accumulate": 1}
"""Compiled without tuning every product, which would take minutes."""


@dataclass(frozen=True)
class _Card:
    """What a size of card trains: a model with its batches, and the smallest model with its own."""

    gigabytes: int  # As the card is sold
    name: str  # What stands in the names of its cases; empty for the largest
    model: ModelName  # The largest model that trains there with FP32 state
    batches: tuple[int, int]  # Of that model, by the best recipe and by the plain one
    small: tuple[int, int]  # The same of the smallest model

    @property
    def hour(self) -> str:
        """The name of its programme."""
        return f"first-hour-{self.name}".removesuffix("-")

    @property
    def prefix(self) -> str:
        """How the names of its cases begin."""
        return f"hour-{self.name}-" if self.name else "hour-"


_CARDS = (
    _Card(141, "", "gpt2-xl", (33, 24), (66, 64)),
    _Card(80, "80gb", "gpt2-xl", (16, 16), (66, 64)),
    _Card(24, "24gb", "gpt2-medium", (12, 12), (32, 32)),
    _Card(16, "16gb", "gpt2-medium", (8, 8), (16, 16)),
)
_SMALL_CARDS = 24
"""Up to so many gigabytes the memory of the state is counted on a smaller model."""


def _rung(rung: str) -> TrainingCase:
    (found,) = (case for case in LADDER if re.fullmatch(rf"ladder-1558m-[0-9]+-{rung}", case.name))
    return found


def _goal(card: _Card) -> str:
    if card is _CARDS[0]:
        return "the goal: 60 % of the peak at 1.5 billion parameters"
    return f"how near the peak the best recipe comes with GPT-2 {SIZE_NAMES[card.model].upper()}"


def _speeds(card: _Card) -> tuple[TrainingCase, ...]:
    """The large model by three recipes: plain, the best, and the best in FP8, each with the one before as control."""
    size, (best, usual) = f"{card.prefix}{SIZE_NAMES[card.model]}", card.batches
    large: dict[str, Any] = {"model": card.model, **_SHORT}
    # The plain recipe compiles the whole model, which takes longest: where that fails, it should be known early.
    plain = on_gpu(
        f"{size}-plain", card.model, 99, "the recipe everyone starts from", **{**PLAIN_RECIPE, **_SHORT}, batch=usual
    )
    return (
        plain,
        replace(
            _rung("weights"), **large, name=f"{size}-bf16", value=100, against=plain.name, batch=best,
            reason=_goal(card),
        ),
        replace(
            _rung("fp8"), **large, **_QUICK, name=f"{size}-fp8", value=97, against=f"{size}-bf16", batch=best,
            reason="whether 8-bit products gain, and what the loss says", check=True,
        ),
    )  # fmt: skip


def _epilogues() -> TrainingCase:
    """The best recipe once more with the newest code: products that also compute GELU and sums."""
    control, *_ = (case for case in _speeds(_CARDS[0]) if case.name.endswith("-bf16"))
    reason = "whether products gain that also compute GELU, its gradient and bias gradients"
    name = control.name.replace("-bf16", "-epilogues")
    return replace(control, name=name, value=91, reason=reason, against=control.name, epilogues="fused")


def _smalls(card: _Card) -> tuple[TrainingCase, ...]:
    """The smallest model, plain and by the best recipe."""
    size, (best, usual) = f"{card.prefix}124m", card.small
    small: dict[str, Any] = {**_SHORT, "model": "gpt2"}
    plain = on_gpu(f"{size}-plain", "gpt2", 94, "its control", **{**PLAIN_RECIPE, **_SHORT}, batch=usual)
    reason = "the size on which everybody reports tokens a second"
    best_case = replace(
        _rung("weights"), **small, name=f"{size}-bf16", value=95, reason=reason, against=plain.name, batch=best
    )
    return plain, best_case


def _products(card: _Card) -> RooflineCase:
    """A block's products, and the head's with and without the rows that pad the vocabulary, in the shapes trained."""
    size, rows = SIZES[card.model], card.batches[0] * 1024
    c, padded = size.hidden, -(-size.vocab // 64) * 64
    sides = ((3 * c, c), (c, c), (4 * c, c), (c, 4 * c), (padded, c), (size.vocab, c))
    return RooflineCase(
        name=f"hour-products-{card.name}".removesuffix("-"),
        value=92,
        reason="the ceiling of the products of these very shapes, and what padding the vocabulary gains",
        part="matmul", formats=("bf16", "fp8"), shapes=(*(f"{rows}x{n}x{k}" for n, k in sides), "8192x8192x8192"),
        device="cuda", repeats=1,
    )  # fmt: skip


def _memory(name: str, value: int, model: ModelName = "gpt2-xl", **fields: Any) -> TrainingCase:
    reason = "memory of the state and of the peak against the engine; SGD against AdamW is the optimizer's tax"
    return on_gpu(f"hour-memory-{name}", model, value, reason, **_ONCE, **fields)


_SGD: dict[str, Any] = {"optimizer": "sgd", "learning_rate": 0.1, "check": True}
_MEMORY = (
    _memory("adamw", 90),
    _memory("sgd", 89, **_SGD),
    _memory("8-bit", 86, optimizer="adamw-8bit", update="flat"),
    _memory("checkpointed", 85, checkpointing="full"),
    _memory("in-backward", 84, optimizer_in_backward=True, clip_norm=None),
    _memory("355m-adamw", 83, "gpt2-medium"),
    _memory("355m-sgd", 83, "gpt2-medium", **_SGD),
)
_TRANSFORMERS = on_gpu(
    "hour-124m-transformers", "gpt2", 93, "another implementation, if it is installed", against="hour-124m-plain",
    **{**PLAIN_RECIPE, **_SHORT, "vocab_multiple": 1}, batch=64, implementation="transformers",
)  # fmt: skip
_FIT = replace(
    fit_case("gpt2-xl"),
    name="hour-fit-16gb-1558m",
    value=80,
    reason="the boundary that readers with a card of 16 GB ask about",
    policies=("16-bit-weights",),
    # The engine expects the boundary between 40 and 44: steps are small there, and end far above it.
    batches=(1, 8, 16, 24, 32, 36, 40, 44, 48, 52, 56, 64, 80, 96),
    steps=10,
    time_limit_s=600.0,
)

FIRST_HOUR: tuple[Case, ...] = (
    *(case for card in _CARDS for case in (_products(card), *_speeds(card), *_smalls(card))),
    *(_epilogues(), _TRANSFORMERS, *_MEMORY, _FIT),
)
"""All cases of the hours of all cards: their records stand in one folder."""

_VALIDATED = ("validation-124m-baseline", "validation-124m-mixed", "validation-124m-together",
              "validation-355m-together")  # fmt: skip


def _hour(card: _Card) -> tuple[tuple[str, str], ...]:
    state = "hour-memory-355m" if card.gigabytes <= _SMALL_CARDS else "hour-memory"
    return (
        ("first-hour", _products(card).name),
        *(("first-hour", case.name) for case in _speeds(card)),
        *(("validation", name) for name in _VALIDATED),
        ("first-hour", _FIT.name),
        ("first-hour", f"{state}-sgd"),
        ("first-hour", f"{state}-adamw"),
        *(("first-hour", case.name) for case in _smalls(card)),
        ("hybrid", "hybrid-memory-gpt2"),
    )


HOURS: Mapping[str, tuple[tuple[str, str], ...]] = {
    **{card.hour: _hour(card) for card in _CARDS},
    "second-hour": (
        ("first-hour", _epilogues().name),
        ("first-hour", _TRANSFORMERS.name),
        *(("first-hour", f"hour-memory-{name}") for name in ("8-bit", "checkpointed", "in-backward")),
        ("validation", "validation-355m-baseline"),
    ),
}
"""What an hour measures, in its order, by name: the suite and the name of each case."""


def hour_of(gigabytes: float) -> str:
    """The hour for a card that is sold with so much memory. Raises `ValueError` for one that is too small."""
    for card in _CARDS:
        if gigabytes >= card.gigabytes:
            return card.hour
    raise ValueError(f"a card of {gigabytes:g} GB has no first hour; allowed: {_CARDS[-1].gigabytes} GB or more")
