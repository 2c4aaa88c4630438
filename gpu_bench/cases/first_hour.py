"""The first hour on a GPU: about ten cases that answer the most valuable questions first, each in little time.

Windows are short (5 s warm, 10 s timed, two repeats in the order A B B A) and every record says so in its case. What
they answer, in this order: how fast the best recipe is at GPT-2 XL, in BF16 and in FP8, against the plain one; the same
at 124M; what the products of those shapes reach; whether the engine's memory is right, and what an optimizer costs; one
boundary of an emulated card of 16 GB.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from gpu_bench.cases.card import fit_case
from gpu_bench.cases.case import Case, ModelName, TrainingCase
from gpu_bench.cases.kinds import RooflineCase
from gpu_bench.cases.ladder import LADDER
from gpu_bench.cases.sizes import SIZES, UNTIMED, on_gpu

_SHORT: dict[str, Any] = {
    "warm_s": 5.0, "timed_s": 10.0, "steps": 10, "repeats": 2, "time_limit_s": 420.0, "energy_s": 0.0
}  # fmt: skip
_ONCE: dict[str, Any] = {
    **UNTIMED, "batch": 4, "warmup": 2, "steps": 5, "repeats": 1, "steady": False, "time_limit_s": 180.0
}  # fmt: skip


_QUICK: dict[str, Any] = {"compile": "default", "accumulate": 1}
"""Compiled without tuning every product, which would take minutes."""


def _speed(name: str, rung: str, value: int, reason: str, **fields: Any) -> TrainingCase:
    """A rung of the ladder, or one of the recipes beside it, in a short window."""
    (found,) = (case for case in LADDER if re.fullmatch(rf"ladder-{rung}", case.name))
    model = name.split("-")[1]
    against = "" if name.endswith("-plain") else f"hour-{model}-plain"
    return replace(found, name=name, value=value, reason=reason, against=against, **_SHORT, **fields)


def _memory(name: str, value: int, **fields: Any) -> TrainingCase:
    reason = "memory of the state and of the peak against the engine; SGD against AdamW is the optimizer's tax"
    return on_gpu(f"hour-memory-{name}", "gpt2-xl", value, reason, **_ONCE, **fields)


def _shapes(model: ModelName, batch: int) -> tuple[str, ...]:
    size, tokens = SIZES[model], batch * 1024
    c, rows = size.hidden, (-(-size.vocab // 64) * 64, size.vocab)
    blocks = ((3 * c, c), (c, c), (4 * c, c), (c, 4 * c))
    return tuple(f"{tokens}x{n}x{k}" for n, k in (*blocks, *((vocab, c) for vocab in rows)))


FIRST_HOUR: tuple[Case, ...] = (
    _speed("hour-1558m-bf16", r"1558m-[0-9]+-weights", 100, "the goal: 60 % of the peak at 1.5 billion parameters"),
    _speed(
        "hour-1558m-plain",
        "1558m-peer-plain-b24",
        99,
        "the recipe everyone starts from",
    ),
    _speed("hour-1558m-fp8", r"1558m-[0-9]+-fp8", 97, "whether 8-bit products gain, and what the loss says", **_QUICK),
    _speed("hour-124m-bf16", r"124m-[0-9]+-weights", 95, "the size on which everybody reports tokens a second"),
    _speed("hour-124m-plain", "124m-peer-plain-b64", 94, "its control"),
    _speed(
        "hour-124m-transformers",
        "124m-peer-plain-b64",
        93,
        "another implementation, if it is installed",
        implementation="transformers",
        vocab_multiple=1,
    ),
    RooflineCase(
        name="hour-products",
        value=92,
        reason="the ceiling of the products of these very shapes, and what padding the vocabulary gains",
        part="matmul",
        formats=("bf16", "fp8"),
        shapes=(*_shapes("gpt2-xl", 33), "8192x8192x8192"),
        device="cuda",
        repeats=1,
    ),
    _memory("adamw", 90),
    _memory("sgd", 89, optimizer="sgd", learning_rate=0.1),
    _memory("8-bit", 86, optimizer="adamw-8bit", update="flat"),
    _memory("checkpointed", 85, checkpointing="full"),
    _memory("in-backward", 84, optimizer_in_backward=True, clip_norm=None),
    replace(
        fit_case("gpt2-xl"),
        name="hour-fit-16gb-1558m",
        value=80,
        reason="the boundary that readers with a card of 16 GB ask about",
        policies=("16-bit-weights",),
        batches=(1, 2, 4, 8, 16),
        steps=10,
        time_limit_s=600.0,
    ),
)
