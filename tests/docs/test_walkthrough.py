"""What the walk and the page of beliefs say of recomputing and of what fits, on the cards of the walk."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from ironlaw import accelerator, estimate, model, setup, step_time, training_memory
from ironlaw.config.resolved import Setup
from ironlaw.graph import count_operations

BELIEFS = Path(__file__).parents[2] / "docs/chapter/figures/beliefs.py"
MODEL, SEQUENCES = "gpt2-xl", 32
MICRO_BATCHES = (1, 2, 4, 8, 16, 32)
FIXED: dict[str, Any] = {"optimizer": "adamw", "update": "fused", "precision": "mixed"}
SMALL: dict[str, Any] = {"batch": 2, "micro_batches": 16}


def fastest(card: str, precision: str, checkpointing: str) -> float:
    """Seconds of the fastest step of 32 sequences whose micro-batch fits the card."""
    settings = {"precision": precision, "checkpointing": checkpointing, "execution": "compiled"}
    times = []
    for batch in MICRO_BATCHES:
        pieces = SEQUENCES // batch
        need = training_memory(
            MODEL, optimizer="adamw", update="fused", batch=batch, accumulate=pieces, **settings
        ).device_total
        if need <= accelerator(card).usable_bytes:
            times.append(step_time(MODEL, card, batch, accumulate=pieces, **settings).total)
    return min(times)


@pytest.mark.parametrize("card", ["v100-32", "a100-40", "a100-80", "h100-sxm"])
def test_recomputing_pays_on_the_v100_under_autocast_and_nowhere_else(card: str) -> None:
    autocast = "amp-fp16" if card == "v100-32" else "amp-bf16"
    pays = {mode for mode in ("mixed", autocast) if fastest(card, mode, "full") < fastest(card, mode, "none")}
    assert pays == ({autocast} if card == "v100-32" else set())


@pytest.mark.parametrize("road", [{"batch": 32, "checkpointing": "every:4"}, SMALL])
def test_both_roads_fit_by_the_count_and_are_uncertain_by_published_runs(road: dict[str, Any]) -> None:
    job = setup(MODEL, "v100-32", **FIXED, **road)
    assert training_memory(job).device_total <= job.chip.usable_bytes
    assert estimate(job).verdict == "uncertain"


def eager_and_compiled() -> tuple[Setup, Setup]:
    """The walk's last row, without and with compiled code."""
    eager, compiled = (setup(MODEL, "v100-32", execution=how, **FIXED, **SMALL) for how in ("eager", "compiled"))
    return eager, compiled


def test_by_the_yardstick_of_eager_runs_the_last_row_is_uncertain_too() -> None:
    """The page holds all rows against one yardstick, so that fusing kernels does not change the verdict by itself."""
    eager, last = eager_and_compiled()
    published = estimate(eager).calibrated
    assert published is not None
    counted, usable = training_memory(last).device_total, last.chip.usable_bytes
    assert counted < usable < counted * published.needed.high / training_memory(eager).device_total


def test_few_runs_of_one_source_stand_behind_the_last_row() -> None:
    """Fewer than a tenth of those behind the rows above it."""
    eager, last = map(estimate, eager_and_compiled())
    assert eager.calibrated is not None
    assert last.calibrated is not None
    assert last.calibrated.needed.sources == 1
    assert last.calibrated.needed.runs < eager.calibrated.needed.runs / 10
    assert (eager.verdict, last.verdict) == ("uncertain", "fits")


def test_the_figure_of_beliefs_draws_the_operations_that_belief_6_names() -> None:
    """Those that checkpoints add, without the scores that FlashAttention computes again in any case."""
    kept, again = (
        count_operations(model(MODEL), 8, 1024, attention="flash", checkpointing=checkpointing)
        for checkpointing in ("none", "full")
    )
    drawn = {name: computed for name, _, computed in run_path(str(BELIEFS))["pairs"]()}
    assert drawn["FLOPs, checkpointing"] == pytest.approx(1 + (again.hardware - kept.hardware) / kept.model)
