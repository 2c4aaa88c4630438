"""The suites: every case can be built and predicted, and the tiny version of every suite really runs."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest
import torch

from gpu_bench.cases.case import NARROW, Case, Compile, TrainingCase
from gpu_bench.cases.kinds import AttentionCase, FitCase
from gpu_bench.cases.ladder import RUNGS
from gpu_bench.cases.sizes import config_of
from gpu_bench.cases.suites import SUITES, TINY, find_cases, with_fields
from gpu_bench.measure import fit, roofline
from gpu_bench.measure.training import Trainer
from gpu_bench.predict.prediction import predict
from gpu_bench.record.derive import derive
from gpu_bench.record.load import faults
from gpu_bench.record.store import SCHEMA_FILE
from gpu_bench.run import worker
from ironlaw.hardware.accelerators import accelerator
from tests.gpu_bench.tiny import recorded, tiny_case

CPU = torch.device("cpu")
CLAIMS = Path(__file__).parents[3] / "docs" / "claims"
EVERY_CASE = [case for cases in SUITES.values() for case in cases]
TRAINED = [case for case in EVERY_CASE if isinstance(case, TrainingCase)]
Trait = tuple[str, Any]


def _traits(suite: str, case: Case) -> set[Trait]:
    """What a run of the case shows to work: its suite, and the value of each of its fields that names a choice."""
    chosen = {
        (name, value)
        for name, value in case.as_dict().items()
        if isinstance(value, str) and name not in ("name", "card")
    }
    return {("suite", suite), *chosen}


def _worth(one: tuple[str, Case], missing: set[Trait]) -> tuple[bool, int, bool]:
    _, case = one
    new = len(_traits(*one) & missing)
    eager = not isinstance(case, TrainingCase) or case.compile == "none"
    return new > 0 and eager, new, getattr(case, "precision", "") == "fp32"


def _representatives() -> list[tuple[str, Case]]:
    """Few tiny cases that have, between them, every suite and every choice that any of all the tiny cases has."""
    kinds = (TrainingCase, FitCase, AttentionCase)
    pool = [(suite, case) for suite, cases in TINY.items() for case in cases if isinstance(case, kinds)]
    missing = set().union(*(_traits(*one) for one in pool))
    found: list[tuple[str, Case]] = []
    while missing:
        # Cases with the most new choices first. Compiling takes long: such cases come last, and in FP32, the fastest.
        best = max(pool, key=lambda one: _worth(one, missing))
        found.append(best)
        missing -= _traits(*best)
    return found


@pytest.mark.parametrize(("suite", "case"), [pytest.param(*one, id=one[1].name) for one in _representatives()])
@pytest.mark.sampled(4)
def test_tiny_cases_run_and_their_records_are_valid(suite: str, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(roofline.SQUARE, "cpu", 64)
    # A backend that only traces: Inductor takes a minute on a CPU, and the code that it makes is not what is tested.
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    if isinstance(case, FitCase):
        suite, case = "trial", replace(case, policies=(case.policies[0], case.policies[-1]), batches=(1, 8))
    # Trials run in this process; `test_first_hour.py` runs each in its own.
    monkeypatch.setattr(fit, "work", lambda order, limit_s: worker.measure(dict(order)))
    record = recorded(suite, case)
    assert faults(record) == []
    record = derive(record)
    # Times of points tell of whatever else runs beside the tests.
    assert record["status"] == "ok" or (record["points"] and record["status"] == "unsettled")
    if isinstance(case, TrainingCase):
        if case.compile != "none":
            assert record["compile"]["graphs"][0] > 0
            assert record["compile"]["graphs_while_timed"] == [0]
            assert record["memory"]["at_peak"]["inside_compiled"] > 0
        elif record["predicted"]["memory"] is not None and case.precision not in (*NARROW, "fp8"):
            held, predicted = record["memory"]["held"], record["predicted"]["memory"]
            assert held["activations"] == predicted["activations"] + predicted["logits"]


@pytest.mark.parametrize("mode", [mode for mode in get_args(Compile) if mode != "none"])
def test_every_mode_is_one_that_the_compiler_knows(mode: Any) -> None:
    """It refuses an unknown one before it compiles anything."""
    assert Trainer(tiny_case(compile=mode), CPU).compiled
    with pytest.raises(RuntimeError, match="mode"):
        torch.compile(lambda x: x, mode="fast")


def test_every_case_says_what_it_is_worth_and_why() -> None:
    assert all(case.reason.strip() and 0 < case.value <= 100 for case in EVERY_CASE)


@pytest.mark.parametrize("case", TRAINED, ids=lambda case: case.name)
def test_every_training_case_can_be_built_and_is_predicted(case: TrainingCase) -> None:
    assert config_of(case).vocab % case.vocab_multiple == 0
    predicted = predict(case, {"type": "cuda", "name": "NVIDIA H200"})
    assert predicted["memory"] is not None
    assert predicted["step_s"] > 0
    if predicted["mfu"] is not None:
        assert 0 < predicted["mfu"] < 1


def test_all_comes_in_the_order_of_value() -> None:
    values = [case.value for _, case in find_cases("all", ())]
    assert values == sorted(values, reverse=True)
    assert len(values) == len(EVERY_CASE)


def test_a_rung_of_the_ladder_adds_to_the_one_before() -> None:
    rungs = [case for case in TRAINED if re.match(r"ladder-1558m-\d", case.name)]
    assert len(rungs) == len(RUNGS)
    for lower, upper, (_, added, _) in zip(rungs, rungs[1:], RUNGS[1:], strict=False):
        changed = {k for k, v in upper.as_dict().items() if lower.as_dict()[k] != v} - {"name", "energy_s"}
        assert changed - {"batch"} == set(added)
        assert changed


def test_what_pages_and_claims_ask_for_is_there() -> None:
    asked = {
        "first-hour": {f"hour-1558m-{name}" for name in ("bf16", "plain", "fp8")},
        "ladder": {f"ladder-1558m-{number}-{name}" for number, (name, _, _) in enumerate(RUNGS)},
        "fit": {"fit-16gb-1558m", "fit-16gb-124m"},
        "validation": {f"validation-124m-{name}" for name in ("baseline", "mixed", "accumulation", "together")},
    }
    for suite, names in asked.items():
        assert names <= {case.name for case in SUITES[suite]}


def test_a_field_is_set_to_one_value_or_to_each_of_several() -> None:
    found = with_fields(find_cases("ladder", ("ladder-1558m-10-weights",)), ["batch=24,33", "accumulate=2"])
    assert [(case.name, case.as_dict()["batch"]) for _, case in found] == [
        (f"ladder-1558m-10-weights-batch-{batch}-accumulate-2", batch) for batch in (24, 33)
    ]
    ((_, spread),) = with_fields(find_cases("scaling", ("scaling-ddp-gpt2",)), ["processes=1,2"])
    assert spread.as_dict()["processes"] == [1, 2], "a field of several numbers takes them all"
    with pytest.raises(ValueError, match="ladder-1558m-10-weights-batch-2 more than once"):
        with_fields(find_cases("ladder", ("ladder-1558m-10-weights",)), ["batch=2,2"])
    small, large = with_fields(find_cases("first-hour", ("hour-1558m-plain",)), ["learning_rate=1e-3,1e+3"])
    assert small[1].name != large[1].name
    with pytest.raises(ValueError, match=r"no field 'bach'.*batch"):
        with_fields(find_cases("ladder", ()), ["bach=1"])
    with pytest.raises(ValueError, match="is not like"):
        with_fields(find_cases("ladder", ("ladder-1558m-10-weights",)), ["batch=\N{FULLWIDTH DIGIT TWO}"])


def test_times_that_a_claim_compares_are_measured_in_the_same_turns() -> None:
    """Bytes do not drift: what is held may be compared whenever it was measured."""
    claims = [claim for file in CLAIMS.glob("*.toml") for claim in tomllib.loads(file.read_text()).get("claim", ())]
    ratios = [one["record"] for one in claims if "over" in one.get("record", {})]
    pairs = [(one["case"], one["over"]) for one in ratios if one["path"].startswith("summary.")]
    assert len(pairs) >= 3
    for case, over in pairs:
        (suite, name), (other_suite, other) = case.split("/"), over.split("/")
        assert suite == other_suite
        controls = {one.name: one.against for one in SUITES[suite]}
        assert {name, other} & {controls[name], controls[other]}, (case, over)


def test_a_control_is_a_case_of_the_same_suite() -> None:
    for cases in SUITES.values():
        names = {case.name for case in cases}
        assert {case.against for case in cases} <= names | {""}


def test_gpu_suites_warm_for_10_s_and_time_for_30_and_the_first_hour_says_that_it_does_not() -> None:
    for suite, cases in SUITES.items():
        for case in cases:
            if isinstance(case, TrainingCase) and case.steady and not case.validate_every:
                windows = {"smoke": (0.0, 0.0), "first-hour": (5.0, 10.0)}.get(suite, (10.0, 30.0))
                assert (case.warm_s, case.timed_s) == windows, case.name


def test_emulated_cards_leave_programs_less_than_the_card_has() -> None:
    for case in SUITES["fit"]:
        assert isinstance(case, FitCase)
        assert 0.9 < case.memory_limit / accelerator(case.card).memory_bytes < 1.0
        assert case.minimum_memory < case.memory_limit, "the card itself is asked too"


def test_the_schema_knows_every_field_of_every_kind_of_case() -> None:
    definitions = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))["$defs"]
    for case in {case.kind: case for case in EVERY_CASE}.values():
        assert set(definitions[type(case).__name__]["properties"]) == set(case.as_dict())
