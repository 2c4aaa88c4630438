"""The run of this book: GPT-2 XL with $700 and one weekend, as it stands after each page that changes it.

One node of eight H100s, 33.6 billion tokens, steps of about a million tokens: the run that llm.c published in 2024.
This is the only place that says what a page changes. The engine computes the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ironlaw import accelerator, estimate, job_time, setup, training_memory

MODEL, CARD = "gpt2-xl", "h100-sxm"
STEPS = 32_000
SEQUENCES = 1024
"""Sequences of full length in a step, so 1,048,576 tokens."""
NODE_USD_PER_HOUR = 28.0
"""What the node cost in July 2024, as reported with the run: github.com/karpathy/llm.c, discussion 677."""
CARDS_OF_NODE = 8
LOGGED_S = 2.75
"""Seconds of a step in the public lines of the run's log, in the same discussion."""
PRICE = f"at ${NODE_USD_PER_HOUR / CARDS_OF_NODE:.2f} a card and hour, as in 2024"
"""What every strip says under its bill."""

PLAN: dict[str, Any] = {
    "batch": 16,
    "precision": "fp32",
    "attention": "standard",
    "update": "foreach",
    "execution": "eager",
    "dp": 1,
    "zero": 0,
}
CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("why", {}),
    ("iron-law", {"precision": "tf32"}),
    ("memory", {"batch": 4}),
    ("roofline", {"execution": "compiled", "update": "fused"}),
    ("recompute", {"attention": "flash", "batch": 8}),
    ("precision", {"precision": "mixed", "batch": 16}),
    ("parallelism", {"dp": 8, "zero": 1}),
    ("run", {}),
)
"""Page -> what it changes in the run, in the order of the book: the first begins it, the last ends it."""


@dataclass(frozen=True)
class Stop:
    """The run at the end of a page.

    Attributes:
        page: The page.
        cards: H100s at work.
        memory: GB that the fullest moment takes on a card.
        limit: GB that programs can use of it.
        seconds: For one step.
        mfu: Model FLOPs utilization.
        hours: For all steps.
        dollars: At the node's price, for the cards at work.
        beside: Another bill: what published runs lead one to expect, or at the end what the log says.
        price: That price in words.
    """

    page: str
    cards: int
    memory: float
    limit: float
    seconds: float
    mfu: float
    hours: float
    dollars: float
    beside: str
    price: str

    @property
    def fits(self) -> bool:
        """Whether the run starts at all."""
        return self.memory <= self.limit


def stops() -> list[Stop]:
    """The run at the end of every page, in the order of the book."""
    settings, found = dict(PLAN), []
    for page, change in CHANGES:
        settings |= change
        found.append(_stop(page, settings))
    return found


def _stop(page: str, settings: dict[str, Any]) -> Stop:
    micro_batches = SEQUENCES // (settings["batch"] * settings["dp"])
    run = setup(MODEL, CARD, optimizer="adamw", micro_batches=micro_batches, **settings)
    step = job_time(run)
    hours = STEPS * step.total / 3600
    dollars = hours * settings["dp"] * NODE_USD_PER_HOUR / CARDS_OF_NODE
    logged = STEPS * LOGGED_S / 3600 * NODE_USD_PER_HOUR
    expected = estimate(run).calibrated
    assert expected, "runs like this one are published"
    return Stop(
        page=page,
        cards=settings["dp"],
        memory=training_memory(run).device_total / 1e9,
        limit=accelerator(CARD).usable_bytes / 1e9,
        seconds=step.total,
        mfu=step.mfu,
        hours=hours,
        dollars=dollars,
        beside=f"by its log ${logged:,.0f}"
        if page == "run"
        else f"expect ${dollars * expected.step_s.expected / step.total:,.0f}",
        price=PRICE,
    )
