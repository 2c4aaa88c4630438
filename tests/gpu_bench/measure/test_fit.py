"""The fit boundary: the search finds it, policies save memory one after another, and real processes are refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gpu_bench.cases import card
from gpu_bench.cases.first_hour import FIRST_HOUR
from gpu_bench.cases.kinds import FitCase
from gpu_bench.cases.tiny import TINY_LIMIT
from gpu_bench.measure import fit
from gpu_bench.predict.prediction import predicted_batch, predicted_peak
from gpu_bench.record.derive import derive, found_by_policy
from gpu_bench.record.load import faults
from gpu_bench.record.store import read_json, write_json
from gpu_bench.run import worker
from tests.gpu_bench.tiny import recorded

BATCHES = (1, 2, 4, 8, 16, 32)


def _fit(**changes: Any) -> FitCase:
    fields: dict[str, Any] = {
        "name": "fit", "model": "pico", "sequence": 64, "card": "rtx-4060", "memory_limit": TINY_LIMIT,
        "policies": ("fp32",), "batches": (1, 8, 64), "steps": 2, "repeats": 1,
    }  # fmt: skip
    return FitCase(**{**fields, **changes})


def _found(start: int | None, outcome: Callable[[int], str]) -> tuple[int | None, str, list[int]]:
    """What a search comes to: the largest batch, what ended it, and the batches that were tried."""
    trials: list[dict[str, Any]] = []

    def attempt(batch: int) -> str:
        trials.append({"policy": "fp32", "batch": batch, "outcome": outcome(batch), "peak": 1, "step_s": 1.0})
        return outcome(batch)

    fit.search(BATCHES, start, attempt)
    (one,) = found_by_policy(_fit(), {"policies": [{"policy": "fp32"}], "trials": trials})
    return one["largest_batch"], one["ended"], [trial["batch"] for trial in trials]


@given(st.integers(0, 40), st.sampled_from([None, *BATCHES]))
def test_the_search_finds_the_boundary_from_wherever_it_starts(boundary: int, start: int | None) -> None:
    found, ended, tried = _found(start, lambda batch: "fits" if batch <= boundary else "oom")
    assert ended == ("boundary" if boundary < BATCHES[-1] else "largest-tried"), "a boundary is one that was seen"
    assert found == max((batch for batch in BATCHES if batch <= boundary), default=None)
    assert len(tried) == len(set(tried))
    if found is not None and start == found:
        assert len(tried) <= 2


@pytest.mark.parametrize("model", ["gpt2", "gpt2-xl"])
def test_each_policy_needs_less_memory_than_the_one_before(model: Any) -> None:
    case = _fit(model=model, sequence=1024)
    peaks = [predicted_peak(card.trial(case, policy, 8), "cuda") for policy in card.POLICIES]
    assert all(before is not None and after is not None and before > after for before, after in pairwise(peaks))


SEARCHES = [case for case in (*card.FIT, *FIRST_HOUR) if isinstance(case, FitCase)]


@pytest.mark.parametrize("case", SEARCHES, ids=lambda case: case.name)
def test_a_search_has_several_batches_beyond_the_boundary_that_the_engine_expects(case: FitCase) -> None:
    """An engine that is too careful must not make the largest batch look like a boundary."""
    expected = [predicted_batch(case, policy, "cuda") for policy in case.policies]
    largest = max(batch or 0 for batch in expected)
    assert largest, "the engine expects that something fits"
    beyond = [batch for batch in case.batches if batch > largest]
    assert len(beyond) >= 3
    assert beyond[-1] >= 2 * largest


def test_the_context_is_taken_off_on_a_gpu_only() -> None:
    # The tiny card is smaller than a CUDA context.
    assert predicted_batch(_fit(), "fp32", "cpu") == 8
    assert predicted_batch(_fit(), "fp32", "cuda") is None


FORGED: tuple[tuple[int, dict[str, Any], str], ...] = (
    (0, {"peak": None}, "peak and time are of those that fit"),
    (0, {"message": "fine"}, "its message is 'fine'"),
    (0, {"peak": 2**40}, "its peak is above the limit"),
    (0, {"peak": 1}, "weights, states and what the backward pass needs"),
    (0, {"step_s": 1e-12}, "no device needs less"),
    (0, {"batch": 16}, "not among the case's policies and batches"),
    (
        1,
        {"outcome": "fits", "peak": 10**6, "step_s": 1.0, "message": None},
        "a larger batch of policy 'fp32' takes less memory",
    ),
)
"""Of a search: which trial, what it claims, and what is said of it."""


def test_trials_meet_the_limit_and_the_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials run in this process; `test_first_hour.py` runs each in its own."""
    monkeypatch.setattr(fit, "work", lambda order, limit_s: worker.measure(dict(order)))
    case = _fit(batches=(8, 64))
    record = recorded("trial", case)
    assert faults(record) == []
    found = derive(record)["fit"]
    assert [(trial["batch"], trial["outcome"]) for trial in found["trials"]] == [(8, "fits"), (64, "oom")]
    assert "the emulated card has 25165824 B" in found["trials"][1]["message"]
    (result,) = found["policies"]
    assert (result["predicted_batch"], result["largest_batch"]) == (8, 8)
    predicted = predicted_peak(card.trial(_fit(), "fp32", 8), "cpu")
    assert result["peak"] == pytest.approx(predicted, rel=0.05)
    assert result["tokens_per_s"] > 0
    for number, change, told in FORGED:
        forged = copy.deepcopy(record)
        forged["fit"]["trials"][number].update(change)
        assert any(told in fault for fault in faults(forged)), (change, faults(forged))


def test_a_policy_that_never_fits_and_a_trial_that_fails_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = {1: {"status": "oom", "message": "full"}, 2: {"status": "error", "message": "broken"}}
    monkeypatch.setattr(fit, "work", lambda order, limit_s: reports[order["case"]["batch"]])
    monkeypatch.setattr(fit, "predicted_batch", lambda case, policy, kind: 2)
    case = _fit(batches=(1, 2))
    found = fit.run_repeat(case, torch.device("cpu"), 0)["fit"]
    assert [(trial["batch"], trial["outcome"]) for trial in found["trials"]] == [(2, "error")]
    (result,) = found_by_policy(case, found)
    assert (result["largest_batch"], result["ended"], result["peak"]) == (None, "error", None)


@pytest.mark.parametrize("broken", ["timeout", "error", "unsupported"])
def test_only_memory_that_ran_out_says_that_a_batch_does_not_fit(broken: str) -> None:
    outcomes = {1: "fits", 2: "fits", 4: "fits", 8: broken, 16: "oom", 32: "oom"}
    assert _found(2, outcomes.__getitem__) == (4, broken, [2, 4, 8])
    assert _found(32, outcomes.__getitem__) == (None, broken, [32, 16, 8])


def test_a_search_that_was_cut_off_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def work(order: dict[str, Any], limit_s: float) -> dict[str, Any]:
        tried.append(order["case"]["batch"])
        if len(tried) == 2:
            raise KeyboardInterrupt
        return {"status": "ok", "message": None, "peak": 1, "timing": {"step_s": [1.0]}}

    monkeypatch.setattr(fit, "work", work)
    kept = tmp_path / "trials.kept"
    with pytest.raises(KeyboardInterrupt):
        fit.run_repeat(_fit(), torch.device("cpu"), 0, kept)
    began = "2026-01-01T10:00:00Z"
    write_json(kept, {**(read_json(kept) or {}), "started": began})
    found = fit.run_repeat(_fit(), torch.device("cpu"), 0, kept)
    assert tried == [8, 64, 64], "the first trial is not made again"
    assert [trial["batch"] for trial in found["fit"]["trials"]] == [8, 64]
    assert found["started"] == began, "its time is that of all its trials"
