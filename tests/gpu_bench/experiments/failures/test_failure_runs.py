"""The failure lab: each failure really happens, each repair really repairs, and a falsified record is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from gpu_bench.cases.suites import SUITES, TINY
from gpu_bench.experiments.digits import digits
from gpu_bench.experiments.failures.case import FailureCase
from gpu_bench.experiments.failures.recipes import FAILURES, Recipe
from gpu_bench.experiments.failures.training import LOWEST, Run, run
from gpu_bench.experiments.failures.verdict import concluded, lost
from gpu_bench.record.arms_checks import missing_parts
from gpu_bench.record.derive import derive
from gpu_bench.record.load import faults, read
from gpu_bench.record.report import flat_rows, tables
from gpu_bench.record.store import RESULTS
from tests.gpu_bench.tiny import recorded

CASES = [case for case in TINY["failures-tiny"] if isinstance(case, FailureCase)]
RECORDS = sorted((RESULTS / "failures").glob("*.json"))


def _recipe(failure: str, name: str, **changes: Any) -> Recipe:
    return replace(FAILURES[failure].recipes[name], **changes)


def _record(case: FailureCase) -> dict[str, Any]:
    return recorded("failures-tiny", case)


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    """A record of the tiny case that has every kind of curve and a histogram."""
    return _record(next(case for case in CASES if case.failure == "underflow"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_tiny_failures_make_valid_records(case: FailureCase) -> None:
    made = _record(case)
    assert faults(made) == []
    made = derive(made)
    assert [row["run"] for row in flat_rows(made)] == list(FAILURES[case.failure].recipes)
    assert len(next(iter(tables([made]))).rows) == len(FAILURES[case.failure].recipes)


def _first_seed(record: dict[str, Any], run: str) -> dict[str, Any]:
    seed: dict[str, Any] = record["arms"]["runs"][run]["seeds"][0]
    return seed


FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "follows from other values": lambda one: _first_seed(one, "fp16").update(seed=99),
    "a curve of run": lambda one: _first_seed(one, "fp16")["curves"]["loss"].pop(),
    "not the file of digits": lambda one: one["arms"]["data"].update(sha256="0" * 64),
    "settings.batch is 63; the case has 64": lambda one: one["arms"]["runs"]["fp16"]["settings"].update(batch=63),
    "not what fills a repeat": lambda one: _first_seed(one, "fp16").update(cpu_s=1e6),
    "no record states it": lambda one: one.update(status="throttled"),
}


def test_repeats_that_are_claimed_are_counted_and_not_written_out(record: dict[str, Any]) -> None:
    forged = copy.deepcopy(record)
    forged["case"]["repeats"] = 10**12
    assert any("repeats, the case has 1000000000000" in fault for fault in faults(forged))
    case = replace(next(case for case in CASES if case.failure == "underflow"), repeats=10**12)
    assert "repeats, the case has 1000000000000" in next(missing_parts(case, record["arms"]))


@pytest.mark.parametrize("fault", FORGERIES)
def test_a_falsified_record_is_refused(record: dict[str, Any], fault: str) -> None:
    forged = copy.deepcopy(record)
    FORGERIES[fault](forged)
    assert fault in " / ".join(faults(forged))


def test_a_faulty_batch_ends_an_fp16_run_and_a_scaler_passes_over_it() -> None:
    data, at = digits.load(), 4
    ends = {}
    for name in ("fp16", "fp16-clipped", "fp16-scaled"):
        training = Run(_recipe("outlier", name, outlier_step=at, steps=at + 2), data, seed=3)
        for _ in range(at):
            training.advance(watched=False)
        before = [p.detach().clone() for p in training.model.parameters()]
        training.advance(watched=False)
        after = list(training.model.parameters())
        ends[name] = [bool(p.isfinite().all()) for p in after], all(map(torch.equal, before, after))
    assert ends["fp16"] == ([False] * 6, False)
    assert ends["fp16-clipped"] == ([False] * 6, False)
    assert ends["fp16-scaled"] == ([True] * 6, True)


def test_clipping_bounds_the_step_that_a_faulty_batch_makes() -> None:
    data = digits.load()
    lengths = {}
    for name in ("fp32", "fp32-clipped"):
        recipe = _recipe("clipping", name, outlier_step=4)
        training = Run(recipe, data, seed=3)
        for _ in range(4):
            training.advance(watched=False)
        before = [p.detach().clone() for p in training.model.parameters()]
        norm = training.advance(watched=False)["norm"]
        moved = [after - was for after, was in zip(training.model.parameters(), before, strict=True)]
        lengths[name] = float(torch.cat([one.flatten() for one in moved]).detach().norm())
        assert norm > 1000
    assert lengths["fp32"] > 100
    assert lengths["fp32-clipped"] == pytest.approx(recipe.learning_rate, rel=1e-3)


def test_a_scale_brings_back_gradients_that_fp16_rounds_to_zero() -> None:
    data = digits.load()
    zero = {}
    for name in ("fp32", "fp16", "fp16-static"):
        training = Run(_recipe("underflow", name), data, seed=3)
        training.advance(watched=False)
        gradients = torch.cat([p.grad.flatten() for p in training.model.parameters() if p.grad is not None])
        zero[name] = float((gradients == 0).double().mean())
    assert zero["fp16"] > zero["fp32"] + 0.2
    assert zero["fp16-static"] == pytest.approx(zero["fp32"], abs=0.02)


def test_a_histogram_tells_exactly_what_rounding_loses() -> None:
    training = Run(_recipe("underflow", "fp32", weight=1e-6), digits.load(), seed=3)
    counts = training.sizes()
    gradients = torch.cat([p.grad.flatten() for p in training.model.parameters() if p.grad is not None])
    gradients = gradients[gradients != 0]
    assert sum(counts) == len(gradients)
    kinds = {
        "fp16": torch.float16,
        "bf16": torch.bfloat16,
        "fp8-e4m3": torch.float8_e4m3fn,
        "fp8-e5m2": torch.float8_e5m2,
    }
    for name, kind in kinds.items():
        rounded = gradients.to(kind).float()
        assert lost(counts, LOWEST, name) == pytest.approx(float((rounded == 0).double().mean()), abs=1e-12), name


def test_small_updates_vanish_in_16_bits_and_not_in_a_master_copy() -> None:
    data = digits.load()
    shares = {
        name: run(_recipe("updates", name, steps=3), data, seed=3)["curves"]["vanished"][-1]
        for name in ("fp16", "bf16", "fp16-master")
    }
    assert 0.3 < shares["fp16"] < shares["bf16"]
    assert shares["bf16"] > 0.9
    assert shares["fp16-master"] < 0.05


def test_warm_up_rises_in_a_straight_line() -> None:
    training = Run(_recipe("linear-scaling", "batch-128-8x-warmup", warmup=3), digits.load(), seed=3)
    rates = []
    for _ in range(5):
        training.advance(watched=False)
        rates.append(training._optimizer.param_groups[0]["lr"])
    full = training.recipe.learning_rate
    assert rates == pytest.approx([full / 4, full / 2, 3 * full / 4, full, full])


def test_runs_of_a_failure_see_the_same_and_as_many_images() -> None:
    for failure in ("large-batch", "linear-scaling"):
        assert len({one.batch * one.steps for one in FAILURES[failure].recipes.values()}) == 1
    for known in FAILURES.values():
        assert [one.role for one in known.recipes.values()].count("reference") == 1
    first = [run(_recipe("outlier", name, steps=2), digits.load(), 5)["curves"]["loss"] for name in ("clean", "fp16")]
    assert first[0] == pytest.approx(first[1], rel=1e-3)


def test_who_failed_follows_from_the_loss_beside_the_reference_of_the_same_seed() -> None:
    settings = {name: {"role": role} for name, role in (("a", "reference"), ("b", "failure"), ("c", "cure"))}

    def seeds(*losses: float | None) -> list[dict[str, Any]]:
        return [{"test": {"loss": loss}, "cpu_s": 1.0, "histograms": []} for loss in losses]

    told = concluded(2.0, settings, {"a": seeds(1.0, 4.0), "b": seeds(None, 8.1), "c": seeds(1.9, 7.9)})
    assert told["verdict"] == {"failure": {"failed": 2, "trained": 2}, "cure": {"failed": 0, "trained": 2}}
    assert told["runs"]["b"]["summary"]["test_loss"] is None


def test_every_failure_has_a_record_in_which_it_happens_and_is_cured() -> None:
    found = {}
    for file in RECORDS:
        record, faults = read(file)
        assert record is not None, faults
        found[record["name"]] = record["arms"]
    assert set(found) == {case.name for case in SUITES["failures"]}
    for name, arms in found.items():
        failures = [run for run in arms["runs"].values() if run["settings"]["role"] == "failure"]
        for one in failures:
            assert 2 * one["summary"]["failed"] > one["summary"]["trained"], name
        assert arms["verdict"]["cure"]["failed"] == 0, name
