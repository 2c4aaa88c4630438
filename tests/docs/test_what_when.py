"""The table of the page on dividing a model, followed row by row, leads to the layouts that the book names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ironlaw import accelerator, estimate, link, model, setup, training_memory
from ironlaw.parallel import tokens_to_hide

CARDS_OF_NODE = 8
FUSED: dict[str, Any] = {"execution": "compiled", "update": "fused"}
SHARED: dict[str, Any] = {"precision": "mixed", **FUSED}
CUT: dict[str, Any] = {"framework": "megatron"}


@dataclass(frozen=True)
class Case:
    """A model, its cluster, and the sequences of a step and of a micro-batch."""

    name: str
    card: str
    cards: int
    sequences: int
    network: str
    batch: int = 1

    def fits(self, **layout: Any) -> bool:
        """Whether the count leaves a tenth of the card free, as the page asks."""
        pieces = max(1, self.sequences // layout["dp"] // self.batch)
        job = setup(
            self.name,
            self.card,
            batch=self.batch,
            micro_batches=pieces,
            network=self.network,
            optimizer="adamw",
            **layout,
        )
        return training_memory(job).device_total <= 0.9 * job.chip.usable_bytes

    def hides(self, times: float) -> bool:
        """Whether a micro-batch has so many times the tokens that the exchange of 16-bit gradients needs."""
        rate = 0.5 * accelerator(self.card).peak("bf16")
        needed = tokens_to_hide(rate, CARDS_OF_NODE * link(self.network).achievable, self.cards)
        return self.batch * model(self.name).max_seq >= times * needed


def test_a_tenth_is_more_than_published_compiled_runs_needed_beyond_their_counts() -> None:
    job = setup("llama3-8b", "h100-sxm", sequence=8192, precision="mixed", optimizer="adamw", dp=16, zero=3, **FUSED)
    published = estimate(job).calibrated
    assert published is not None
    assert published.needed.high * 0.9 < training_memory(job).device_total


def layout(case: Case) -> str:
    """What the first true row says, or how the last row divides."""
    if case.fits(dp=case.cards, zero=1, **SHARED):
        return "ZeRO-1"
    if case.fits(dp=case.cards, zero=2, **SHARED) and case.hides(1):
        return "ZeRO-2"
    if case.fits(dp=case.cards, zero=3, **SHARED) and case.hides(2):
        return "ZeRO-3"
    cut = {**CUT, "sequence_parallel": True, "zero": 1}
    usable = accelerator(case.card).usable_bytes
    tensors = next(
        ways
        for ways in (2, 4, 8)
        if training_memory(case.name, gpu=case.card, dp=case.cards // ways, tp=ways, **cut).saved_bytes <= usable / 3
    )
    stages = next(
        count for count in (1, 2, 4, 8, 16) if case.fits(dp=case.cards // tensors // count, tp=tensors, pp=count, **cut)
    )
    return f"{case.cards // tensors // stages} x {tensors} x {stages}"


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (Case("gpt2-xl", "h100-sxm", 8, 1024, "infiniband-ndr", 16), "ZeRO-1"),
        (Case("llama3-8b", "h100-sxm", 16, 512, "infiniband-ndr"), "ZeRO-2"),
        (Case("llama2-70b", "h100-sxm", 64, 512, "infiniband-ndr"), "4 x 4 x 4"),
        (Case("gpt3-175b", "a100-80", 1024, 1536, "infiniband-hdr"), "32 x 4 x 8"),
    ],
    ids=lambda value: value.name if isinstance(value, Case) else value,
)
def test_the_table_leads_to_the_layouts_of_the_book(case: Case, said: str) -> None:
    assert layout(case) == said
