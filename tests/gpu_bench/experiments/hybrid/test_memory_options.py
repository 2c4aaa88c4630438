"""Options of memory: a record holds what PyTorch allocates with each, beside what the plan expects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from gpu_bench.cases.suites import TINY
from gpu_bench.experiments.hybrid.arms import MEMORY_ARMS, PLANNED
from gpu_bench.experiments.hybrid.case import MemoryCase
from gpu_bench.experiments.hybrid.evaluate import peaks_of, task_of
from gpu_bench.experiments.hybrid.verdict import concluded
from gpu_bench.record.derive import derive
from gpu_bench.record.load import faults
from tests.gpu_bench.tiny import recorded

CASE = next(case for case in TINY["hybrid-tiny"] if case.name == "hybrid-memory")


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    """A record of all options of memory in a tiny shape."""
    return recorded("hybrid-tiny", CASE)


@pytest.mark.full
def test_all_options_alone_and_combined_make_a_valid_record_that_judges_no_prediction(record: dict[str, Any]) -> None:
    assert faults(record) == []
    record = derive(record)
    assert len(record["arms"]["runs"]) == len(MEMORY_ARMS) == 1 + 2 * 2 * 3
    assert record["arms"]["verdict"]["judged"] == 0
    assert {run["summary"]["helps"] for run in record["arms"]["runs"].values()} == {None}
    assert set(PLANNED) <= set(MEMORY_ARMS)


@pytest.mark.full
def test_the_bytes_of_each_option_are_those_of_its_tensors(record: dict[str, Any]) -> None:
    """Counted by hand in copies of the weights: Adam has two, a snapshot all three, the last update is one."""
    assert isinstance(CASE, MemoryCase)
    network = task_of(CASE, torch.device("cpu")).network(0)
    copy, tensors = sum(p.nbytes for p in network.parameters()), len(list(network.parameters()))
    counts = 4 * tensors  # Adam's number of steps, one for each tensor.
    runs = {name: run["summary"]["memory"] for name, run in derive(record)["arms"]["runs"].items()}
    whole, dropped, offloaded = (runs[name] for name in ("predicting", "dropped", "offloaded"))
    assert whole["predicted"] - dropped["predicted"] == pytest.approx(4 * copy + 2 * counts, abs=2000)
    assert offloaded["elsewhere"] == 5 * copy + 2 * counts
    assert whole["predicted"] - offloaded["predicted"] == offloaded["elsewhere"]
    assert {one["elsewhere"] for name, one in runs.items() if "offloaded" not in name} == {0}
    assert whole["computed"] - runs["plain"]["computed"] >= 4 * copy


@pytest.mark.full
def test_accumulation_lowers_the_peak_where_activations_make_it() -> None:
    """32 sequences, whole and in four parts: of the logits alone, 32 x 64 x 256 numbers, three quarters go."""
    assert isinstance(CASE, MemoryCase)
    large = replace(CASE, batch=32, sequence=64)
    task = task_of(large, torch.device("cpu"))
    whole, parts = (peaks_of(MEMORY_ARMS[name], large, task, 1)["computed"] for name in ("predicting", "accumulated"))
    assert whole - parts > 3 / 4 * 32 * 64 * 256 * 4


@pytest.mark.parametrize(("peak", "loss", "said"), [(54, 1.0, (True, True)), (56, 1.02, (False, False))])
def test_an_option_is_held_against_the_plan(peak: int, loss: float, said: tuple[bool, bool]) -> None:
    """The plan expects half with mixed precision: 54 % is near enough, 56 % is not."""
    phases = {"warmup": 9, "full": 0, "predict": 0, "correct": 0}
    told = {"phases": phases, "phase_seconds": dict.fromkeys(phases, 1.0), "extra_seconds": 0.0, "divergences": 0}
    rest = {"steps": 9, "seconds": 1.0, "memory_peak": None, "told": {**told, "computed": 9}}

    def measured(loss: float, computed: int) -> list[dict[str, Any]]:
        held = {"computed": computed, "predicted": 40, "elsewhere": 0}
        return [{"test": {"loss": loss, "accuracy": 0.5}, "memory": held, **rest}]

    settings = {name: MEMORY_ARMS[name].as_dict() for name in ("plain", "mixed")}
    seeds = {"plain": measured(1.0, 100), "mixed": measured(loss, peak)}
    of_mixed = concluded("perplexity", settings, seeds)["runs"]["mixed"]["summary"]["memory"]
    assert (of_mixed["as_planned"], of_mixed["harmless"]) == said
    assert of_mixed["share"] == pytest.approx(peak / 100)
