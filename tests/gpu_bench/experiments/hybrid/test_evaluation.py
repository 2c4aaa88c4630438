"""The evaluation of predicted steps: its controls are fair, its rule decides, and a falsified record is refused."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
import torch

from book.runs import compared
from gpu_bench.cases.sizes import SIZES
from gpu_bench.cases.suites import TINY
from gpu_bench.experiments.hybrid.arms import ARMS, REMEMBERED, computed
from gpu_bench.experiments.hybrid.case import HYBRID_SUITE, HybridCase
from gpu_bench.experiments.hybrid.evaluate import predictor_of, task_of, train
from gpu_bench.experiments.hybrid.schedule import CONSERVATIVE
from gpu_bench.experiments.hybrid.text_task import most_frequent
from gpu_bench.experiments.hybrid.verdict import concluded, interval, point_steps, told
from gpu_bench.record.derive import derive
from gpu_bench.record.load import faults
from gpu_bench.record.report import flat_rows
from gpu_bench.record.tables import to_json
from ironlaw import model, training_memory
from tests.gpu_bench.tiny import recorded

CASE, TEXT = (
    next(case for case in TINY["hybrid-tiny"] if isinstance(case, HybridCase) and case.task == task)
    for task in ("digits", "text")
)


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    """A record of the tiny evaluation, with every run."""
    return recorded("hybrid-tiny", CASE)


def test_the_tiny_evaluation_makes_a_valid_record(record: dict[str, Any]) -> None:
    assert faults(record) == []
    record = derive(record)
    assert list(record["arms"]["runs"]) == list(ARMS)
    assert record["arms"]["verdict"]["judged"] == sum(arm.predictor not in ("none", "no-op") for arm in ARMS.values())
    # The site keeps records as read-only mappings, which JSON encoders refuse.
    for run in record["arms"]["runs"].values():
        run["summary"]["against"] = MappingProxyType(run["summary"]["against"])
    assert json.loads(to_json(flat_rows(record)))[0]["run"] == "plain"


def test_the_evaluation_on_text_makes_a_valid_record_and_judges_perplexity() -> None:
    assert isinstance(TEXT, HybridCase)
    made = recorded("hybrid-tiny", TEXT)
    assert faults(made) == []
    made = derive(made)
    assert list(made["arms"]["runs"]) == [name for name in ARMS if name not in TEXT.left_out]
    assert TEXT.left_out
    plain, momentum = (_first(made, name) for name in ("plain", "plain-momentum"))
    assert plain["curve"][-1]["loss"] < plain["curve"][0]["loss"]
    ratio = math.exp(momentum["test"]["loss"] - plain["test"]["loss"])
    assert _run(made, "plain-momentum")["summary"]["worse"] == pytest.approx(ratio)


@pytest.mark.parametrize("case", [case for case in HYBRID_SUITE if case.device == "cuda"], ids=lambda case: case.name)
def test_the_published_sizes_pass_the_same_code_in_their_precision(case: HybridCase) -> None:
    """One computed and one predicted step of each case's tiny shape, in the case's own precision."""
    small = next(one for one in TINY["hybrid-tiny"] if one.name == case.name)
    assert isinstance(small, HybridCase)
    tiny = replace(small, precision=case.precision)
    task = task_of(tiny, torch.device("cpu"))
    whole = train(ARMS["last-update"], replace(tiny, steps=8), task, seed=1)
    assert {point["phase"] for point in whole["curve"]} >= {"warmup"}
    assert whole["test"]["loss"] > 0
    assert SIZES[case.model].max_seq >= case.sequence


@pytest.mark.parametrize("case", [case for case in HYBRID_SUITE if case.device == "cuda"], ids=lambda case: case.name)
def test_a_gpu_is_asked_for_the_memory_that_the_engine_estimates(case: HybridCase) -> None:
    """The most demanding run: what a step of training takes, and the copies of all weights that predicting adds."""
    copy = 4 * model(case.model).parameters
    largest = 4 * model(case.model).vocab * model(case.model).hidden
    needs = {}
    for name, arm in case.arms.items():
        step = training_memory(
            case.model,
            optimizer="adam" if arm.optimizer == "adam" else "momentum",
            precision="amp-bf16" if arm.mixed else case.precision,
            batch=case.batch * arm.larger // arm.parts,
            sequence=case.sequence,
        ).device_total
        kept = 0.0
        if arm.predictor != "none":
            # The snapshot has three copies, every remembered update is one, and two are made to compare.
            kept = (3 + predictor_of(arm, 0).history + 2) * copy
        if arm.predictor == "recurrent":
            # Eight numbers for every weight, and 97 for each of the largest tensor while the cell reads it.
            kept += 8 * copy + 97 * largest
        needs[name] = step + kept
    most = max(needs.values())
    assert most <= case.minimum_memory <= 1.3 * most


@pytest.mark.parametrize("case", [CASE, replace(CASE, channels=5), TEXT], ids=("digits", "wide digits", "text"))
def test_the_weights_of_a_case_are_those_of_its_network(case: HybridCase) -> None:
    network = task_of(case, torch.device("cpu")).network(seed=0)
    assert case.weight_bytes == sum(parameter.nbytes for parameter in network.parameters())


def test_mnist_has_larger_images() -> None:
    """Two of its layers know the side: 28 pixels become 14, of 16 channels, each with ten weights."""
    digits, mnist = replace(CASE, channels=8), replace(CASE, channels=8, task="mnist")
    assert mnist.weight_bytes - digits.weight_bytes == 4 * 10 * 16 * (14**2 - 4**2)


@pytest.mark.parametrize("name", [name for name, arm in ARMS.items() if arm.predictor != "none"])
def test_a_predictor_remembers_as_many_updates_as_records_are_checked_by(name: str) -> None:
    arm = ARMS[name]
    assert predictor_of(arm, seed=0).history == REMEMBERED[arm.predictor]


def test_rare_tokens_share_the_last_number() -> None:
    tokens = torch.tensor([7, 7, 7, 3, 3, 9, 5], dtype=torch.int32)
    assert most_frequent(tokens, 3).tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert most_frequent(tokens, 256).max() == 3


def test_recorded_curves_begin_as_training_from_their_seeds_begins() -> None:
    """Train the first steps again, which the checks of records cannot do: they run without PyTorch."""
    for case in HYBRID_SUITE:
        if case.task != "digits":
            continue
        task = task_of(case, torch.device("cpu"))
        for one in compared("hybrid", case.name)["runs"]["plain"]["seeds"]:
            again = train(ARMS["plain"], replace(case, steps=21), task, one["seed"])["curve"]
            losses = {step: point["loss"] for step, point in zip(point_steps(21), again, strict=True)}
            shared = [point for point in one["curve"] if point["step"] in losses]
            assert len(shared) > 2
            assert [point["loss"] for point in shared] == pytest.approx(
                [losses[point["step"]] for point in shared], rel=2e-3
            )


def _run(record: dict[str, Any], name: str) -> Any:
    return record["arms"]["runs"][name]


def _first(record: dict[str, Any], name: str) -> Any:
    return _run(record, name)["seeds"][0]


def _predicted(seed: dict[str, Any]) -> Any:
    return next(point for point in seed["curve"] if point["phase"] == "predict")


FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no record states it": lambda one: one["arms"].update(verdict={"helping": 3}),
    "phases do not sum": lambda one: _first(one, "no-op")["told"]["phases"].update(full=10**6),
    "more points of phase": lambda one: _first(one, "no-op")["curve"][0].update(phase="correct"),
    "follows from other values": lambda one: _first(one, "fewer-steps").update(steps=39),
    "its curve has": lambda one: _first(one, "fewer-steps")["curve"].pop(),
    "do not rise": lambda one: _first(one, "plain")["curve"][0].update(seconds=1e5),
    "not that of plain training": lambda one: _first(one, "mean-update")["curve"][2].update(loss=2.3),
    "where a predicted step computed none": lambda one: _predicted(_first(one, "last-update")).update(loss=2.0),
    "more predictions were compared": lambda one: _first(one, "recurrent")["told"]["horizons"][0].update(compared=99),
    "diverged more often": lambda one: _first(one, "recurrent")["told"].update(divergences=99),
    "settings.rate is 9.0; the case has 1.0": lambda one: _run(one, "plain")["settings"].update(rate=9.0),
}


@pytest.mark.parametrize("fault", FORGERIES)
def test_a_falsified_evaluation_is_refused(record: dict[str, Any], fault: str) -> None:
    forged = copy.deepcopy(record)
    FORGERIES[fault](forged)
    assert fault in " / ".join(faults(forged))


def test_controls_take_as_many_real_steps_as_the_predictors_at_their_most_confident() -> None:
    for case in HYBRID_SUITE:
        whole = computed(ARMS["last-update"].schedule(case.steps), case.steps)
        for arm in ARMS.values():
            assert not arm.fewer or 0 <= whole - arm.taken(case.steps) * arm.larger < arm.larger
        assert all(case.repeats >= 5 for case in HYBRID_SUITE)
    assert computed(CONSERVATIVE, 100) == 100
    assert computed(CONSERVATIVE, 100 + 15) == 100


def test_no_op_skips_steps_and_a_predictor_moves_on_from_the_same_start() -> None:
    assert isinstance(CASE, HybridCase)
    task = task_of(CASE, torch.device("cpu"))
    runs = {name: train(ARMS[name], CASE, task, seed=2) for name in ("plain", "no-op", "last-update")}
    phases = {name: [point["phase"] for point in run["curve"]] for name, run in runs.items()}
    assert "predict" in phases["no-op"]
    assert told(runs["no-op"]["told"])["computed"] == computed(ARMS["no-op"].schedule(CASE.steps), CASE.steps)
    first = next(index for index, phase in enumerate(phases["no-op"]) if phase == "predict")
    losses = {name: [point["loss"] for point in run["curve"]] for name, run in runs.items()}
    assert losses["plain"][:first] == losses["no-op"][:first] == losses["last-update"][:first]
    assert runs["no-op"]["test"]["loss"] > runs["plain"]["test"]["loss"]


def _measured(*pairs: tuple[float | None, float]) -> list[dict[str, Any]]:
    phases = {"warmup": 50, "full": 0, "predict": 50, "correct": 0}
    seconds = dict.fromkeys(phases, 1.0)
    told = {"phases": phases, "phase_seconds": seconds, "extra_seconds": 0.0, "divergences": 1}
    rest = {"steps": 100, "memory_peak": None, "told": {**told, "computed": 50}}
    return [{"test": {"loss": loss, "accuracy": 0.5}, "seconds": cpu, **rest} for loss, cpu in pairs]


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
        "plain": {"predictor": "none", "control": False, "larger": 1},
        "less": {"predictor": "none", "control": True, "larger": 1},
        "guess": {"predictor": "last-update", "control": False, "larger": 1},
    }
    seeds = {
        "plain": _measured((1.0, 2.0), (1.0, 2.0), (1.0, 2.0)),
        "less": _measured((1.05, 1.0), (1.06, 1.0), (1.07, 1.0)),
        "guess": _measured(*((loss, cpu) for loss in losses)),
    }
    told = concluded("loss", settings, seeds)
    assert told["runs"]["guess"]["summary"]["helps"] is helps
    assert told["runs"]["less"]["summary"]["helps"] is None
    assert told["verdict"]["helping"] == int(helps)


def test_the_interval_is_that_of_student() -> None:
    # By hand: mean 2, standard deviation 1, three pairs: 4.303 / sqrt(3) = 2.484.
    told = interval([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert told == pytest.approx({"mean": 2.0, "low": -0.4843, "high": 4.4843}, abs=1e-3)
