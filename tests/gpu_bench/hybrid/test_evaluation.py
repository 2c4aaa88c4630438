"""The evaluation of predicted steps: its controls are fair, its rule decides, and its record says nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest
import torch

from gpu_bench.cases.suites import TINY
from gpu_bench.digits import digits
from gpu_bench.hybrid.arms import ARMS, PREDICTING, computed
from gpu_bench.hybrid.case import HYBRID_SUITE, HybridCase
from gpu_bench.hybrid.evaluate import run_repeat, train
from gpu_bench.hybrid.schedule import CONSERVATIVE
from gpu_bench.hybrid.verdict import concluded, interval
from gpu_bench.record.assembly import assemble
from gpu_bench.record.checks import inconsistencies
from gpu_bench.record.load import schema_faults
from gpu_bench.record.report import flat_rows
from gpu_bench.record.tables import to_json
from gpu_bench.run import worker

CASE = TINY["hybrid-tiny"][0]


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    """A record of the tiny evaluation, with every run."""
    part = run_repeat(CASE, torch.device("cpu"), 0)
    part.setdefault("finished", part["started"])
    made = assemble("hybrid-tiny", CASE, worker.probe("cpu"), [part], "python -m gpu_bench run")
    again: dict[str, Any] = json.loads(json.dumps(made))
    return again


def test_the_tiny_evaluation_makes_a_valid_record(record: dict[str, Any]) -> None:
    record = copy.deepcopy(record)
    assert schema_faults(record) == []
    assert inconsistencies(record) == []
    assert list(record["arms"]["runs"]) == list(ARMS)
    assert record["arms"]["verdict"]["judged"] == len(PREDICTING)
    # As the site holds records: read only, which no JSON encoder takes.
    for run in record["arms"]["runs"].values():
        run["summary"]["against"] = MappingProxyType(run["summary"]["against"])
    assert json.loads(to_json(flat_rows(record)))[0]["run"] == "plain"


def _run(record: dict[str, Any], name: str) -> Any:
    return record["arms"]["runs"][name]


FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "arms.verdict does not follow": lambda one: one["arms"]["verdict"].update(helping=3),
    "arms.runs does not follow": lambda one: _run(one, "last-update")["summary"].update(speedup=9.9),
    "computed more steps": lambda one: _run(one, "no-op")["seeds"][0]["told"].update(computed=10**6),
    "do not rise": lambda one: _run(one, "plain")["seeds"][0]["curve"][0].update(cpu_s=1e5),
    "as the runs of this case": lambda one: _run(one, "plain")["settings"].update(learning_rate=9.0),
}


@pytest.mark.parametrize("fault", FORGERIES)
def test_a_falsified_evaluation_is_refused(record: dict[str, Any], fault: str) -> None:
    forged = copy.deepcopy(record)
    FORGERIES[fault](forged)
    assert fault in " / ".join(inconsistencies(forged))


def test_controls_take_as_many_real_steps_as_the_predictors_at_their_most_confident() -> None:
    for case in HYBRID_SUITE:
        left = {arm.taken(case.steps) for arm in ARMS.values() if arm.fewer}
        assert left == {computed(ARMS["last-update"].schedule(case.steps), case.steps)}
        assert all(case.repeats >= 5 for case in HYBRID_SUITE)
    assert computed(CONSERVATIVE, 100) == 100
    assert computed(CONSERVATIVE, 100 + 15) == 100


def test_no_op_skips_steps_and_a_predictor_moves_on_from_the_same_start() -> None:
    assert isinstance(CASE, HybridCase)
    runs = {name: train(ARMS[name], CASE, digits.load(), seed=2) for name in ("plain", "no-op", "last-update")}
    phases = {name: [point["phase"] for point in run["curve"]] for name, run in runs.items()}
    assert "predict" in phases["no-op"]
    assert runs["no-op"]["told"]["computed"] == computed(ARMS["no-op"].schedule(CASE.steps), CASE.steps)
    first = next(index for index, phase in enumerate(phases["no-op"]) if phase == "predict")
    losses = {name: [point["loss"] for point in run["curve"]] for name, run in runs.items()}
    assert losses["plain"][:first] == losses["no-op"][:first] == losses["last-update"][:first]
    assert runs["no-op"]["test"]["loss"] > runs["plain"]["test"]["loss"]


def _measured(*pairs: tuple[float | None, float]) -> list[dict[str, Any]]:
    told = {"computed": 50, "divergences": 1}
    return [{"test": {"loss": loss, "accuracy": 0.5}, "cpu_s": cpu, "steps": 100, "told": told} for loss, cpu in pairs]


@pytest.mark.parametrize(
    ("losses", "cpu", "helps"),
    [
        ((0.90, 0.91, 0.92), 1.0, True),
        ((0.90, 0.91, 0.92), 1.6, False),
        ((1.10, 1.11, 1.12), 1.0, False),
        ((1.00, 1.40, 0.60), 1.0, False),
        ((0.90, None, 0.92), 1.0, False),
    ],
    ids=["helps", "too slow", "worse than plain", "no better than the control", "diverged"],
)
def test_the_rule_asks_for_speed_quality_and_more_than_the_controls(
    losses: tuple[float | None, ...], cpu: float, *, helps: bool
) -> None:
    settings = {
        "plain": {"predictor": "none", "control": False},
        "less": {"predictor": "none", "control": True},
        "guess": {"predictor": "last-update", "control": False},
    }
    seeds = {
        "plain": _measured((1.0, 2.0), (1.0, 2.0), (1.0, 2.0)),
        "less": _measured((1.05, 1.0), (1.06, 1.0), (1.07, 1.0)),
        "guess": _measured(*((loss, cpu) for loss in losses)),
    }
    told = concluded(settings, seeds)
    assert told["runs"]["guess"]["summary"]["helps"] is helps
    assert told["runs"]["less"]["summary"]["helps"] is None
    assert told["verdict"]["helping"] == int(helps)


def test_the_interval_is_that_of_student() -> None:
    # By hand: mean 2, standard deviation 1, three pairs: 4.303 / sqrt(3) = 2.484.
    told = interval([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert told == pytest.approx({"mean": 2.0, "low": -0.4843, "high": 4.4843}, abs=1e-3)
