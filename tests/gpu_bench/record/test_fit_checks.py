"""The trials of a search are its walk, which is replayed: no batch left out, none too many, none longer than it may."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_bench.cases import card
from gpu_bench.cases.kinds import MOST_BATCHES, MOST_POINTS, AttentionCase, FitCase, RooflineCase
from gpu_bench.measure.fit import search
from gpu_bench.predict.prediction import predicted_batch
from gpu_bench.record.checks import inconsistencies
from gpu_bench.record.fit_checks import fit_faults
from tests.explorable.measured.made import document

Record = dict[str, Any]
Change = Callable[[Record], object]
CASE = next(case for case in card.FIT if case.model == "gpt2")
PREDICTED = {policy: predicted_batch(CASE, policy, "cuda") or 1 for policy in CASE.policies}
GB = 10**9


def _trial(policy: str, batch: int, outcome: str = "fits", **more: Any) -> Record:
    fits = outcome == "fits"
    message = None if fits else "CUDA out of memory"
    measured = {"peak": 4 * GB + batch * GB // 60 if fits else None, "step_s": 0.02 * batch if fits else None}
    return {"policy": policy, "batch": batch, "outcome": outcome, "message": message, **measured, **more}


def _record(outcome: Callable[[str, int], str]) -> Record:
    """A record of a search on a GPU that emulates the card, where a batch of a policy comes to an outcome."""
    trials: list[Record] = []

    def attempt(policy: str, batch: int) -> str:
        trials.append(_trial(policy, batch, outcome(policy, batch)))
        return str(trials[-1]["outcome"])

    for policy in CASE.policies:
        search(CASE.batches, PREDICTED[policy], lambda batch, policy=policy: attempt(policy, batch))  # type: ignore[misc]
    made = document("gpt2-nano-fp32-adam", repeats=1)
    about = ("schema_version", "benchmark_version", "device", "provenance")
    made = {**{name: made[name] for name in about}, "suite": "card", "case": CASE.as_dict(), "outcome": "measured"}
    # As long as a search may take.
    made["provenance"]["repeats"][0]["finished"] = "2025-11-20T10:55:00Z"
    policies = [{"policy": policy, "predicted_batch": PREDICTED[policy]} for policy in CASE.policies]
    return {**made, "fit": {"context": GB // 2, "policies": policies, "trials": trials}}


def _as_predicted(policy: str, batch: int) -> str:
    return "fits" if batch <= PREDICTED[policy] else "oom"


@pytest.mark.parametrize("shift", [0.2, 0.4, 1.0, 3.0, 1e9])
def test_whatever_a_search_makes_is_its_walk(shift: float) -> None:
    record = _record(lambda policy, batch: "fits" if batch <= shift * PREDICTED[policy] else "oom")
    if not shift:
        record["fit"]["context"] = None
    assert inconsistencies(record) == []


@given(st.dictionaries(st.tuples(st.sampled_from(CASE.policies), st.sampled_from(CASE.batches)),
                       st.sampled_from(["fits", "oom", "error", "unsupported"])))  # fmt: skip
def test_a_search_that_was_broken_is_its_walk_too(outcomes: dict[tuple[str, int], str]) -> None:
    record = _record(lambda policy, batch: outcomes.get((policy, batch), "oom"))
    told = [fault for fault in inconsistencies(record) if "fit.trials" in fault or "repeat" in fault]
    assert told == []


def _trials(change: Callable[[list[Record]], object]) -> Change:
    return lambda record: change(record["fit"]["trials"])


def _only(*kept: tuple[str, int, str]) -> Change:
    return lambda record: record["fit"].update(trials=[_trial(*one) for one in kept])


def _fit(**values: Any) -> Change:
    return lambda record: record["fit"].update(values)


def _everywhere(**values: Any) -> Change:
    def change(record: Record) -> None:
        for one in record["fit"]["trials"]:
            one.update(values if one["outcome"] == "fits" else {})

    return change


def _slow(record: Record) -> None:
    record["provenance"]["repeats"][0]["finished"] = "2025-11-20T10:00:10Z"


def _timeouts(record: Record) -> None:
    record["fit"]["trials"] = [_trial(policy, PREDICTED[policy], "timeout") for policy in CASE.policies]


FIRST = CASE.policies[0]
FORGED: list[tuple[Change, str]] = [
    (_only(*((policy, batch, end) for policy in CASE.policies for batch, end in ((4, "fits"), (512, "oom")))),
     f"the search tries batch {PREDICTED[FIRST]} of policy 'fp32' next, and fit.trials go on with batch 4"),
    (_trials(lambda trials: trials.pop(1)), "of policy 'fp32' next, and fit.trials go on with batch"),
    (_only(*((policy, PREDICTED[policy], "fits") for policy in CASE.policies)), "of policy 'fp32' next, and"),
    (_trials(lambda trials: trials.__delitem__(slice(2, None))), "of policy 'amp' next, and fit.trials end"),
    (_only(*((policy, 512, "oom") for policy in CASE.policies)), "fit.trials go on with batch 512 of policy 'fp32'"),
    (_trials(list.reverse), "and fit.trials go on with batch"),
    (_trials(lambda trials: trials.append(_trial(CASE.policies[-1], 1))), "the search is over, and fit.trials go on"),
    (lambda record: record["fit"]["policies"][0].update(predicted_batch=5), "is 5, which the case does not try"),
    (_everywhere(step_s=1e7), "20 steps do not end within 900 s"),
    (_everywhere(step_s=80.0), "do not fit into a repeat of 3302 s"),
    (_slow, "do not fit into a repeat of 12 s"),
    (_timeouts, "trials of 5400 s do not fit into a repeat of 3302 s"),
    (_fit(context=10**17), "fit.context is 100000000000000000 B of a card of"),
    (_fit(context=None), "fit.context is missing"),
    (_everywhere(peak=17 * GB), "its peak is above the limit"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "told"), FORGED)
def test_trials_that_no_search_makes_are_refused(change: Change, told: str) -> None:
    record = _record(_as_predicted)
    assert inconsistencies(record) == [], "else this test shows nothing"
    change(record)
    assert told in " / ".join(inconsistencies(record))


def test_a_context_belongs_to_a_gpu_that_emulates_a_card() -> None:
    record = copy.deepcopy(_record(_as_predicted))
    record["device"]["memory"] = CASE.memory_limit + GB // 10
    record["device"]["name"] = "NVIDIA GeForce RTX 5080"
    assert "and no GPU emulates a card" in " / ".join(inconsistencies(record))


def test_a_search_may_have_waited_between_its_processes() -> None:
    """It resumes where it was cut off, on another day perhaps; its repeat began with the first process."""
    record = _record(_as_predicted)
    record["provenance"]["repeats"][0]["finished"] = "2025-11-23T10:30:00Z"
    assert inconsistencies(record) == []


def test_a_small_record_has_no_endless_search_and_no_endless_points() -> None:
    """Neither is walked before it is refused."""
    fields: dict[str, Any] = {"model": "gpt2", "sequence": 8, "card": "rtx-5080", "memory_limit": GB}
    for batches in ((2, 1), (1, 1), tuple(range(1, MOST_BATCHES + 2))):
        with pytest.raises(ValueError, match="batches are"):
            FitCase(name="fit", policies=("amp",), batches=batches, **fields)
    with pytest.raises(ValueError, match="policies has 2 names; allowed: each once"):
        FitCase(name="fit", policies=("amp", "amp"), **fields)
    many = tuple(range(1, MOST_POINTS + 2))
    with pytest.raises(ValueError, match="points; allowed: 10,000"):
        AttentionCase(name="attention", variants=("standard",), sizes=many, formats=("bf16",))
    with pytest.raises(ValueError, match="points; allowed: 10,000"):
        RooflineCase(name="copies", part="copy", sizes=many)


def test_trials_are_held_one_by_one_only_where_the_case_tries_them(monkeypatch: pytest.MonkeyPatch) -> None:
    record = _record(_as_predicted)
    record["fit"]["trials"] *= 1000
    monkeypatch.setattr("gpu_bench.record.fit_checks.trial", lambda *told: pytest.fail("a trial was looked at"))
    assert list(fit_faults(CASE, record)) == [
        "fit.trials are not among the case's policies and batches, each at most once"
    ]


@pytest.mark.parametrize(
    ("outcome", "message", "told"),
    [
        ("oom", "nothing is wrong: used 1 KiB", "its message does not say so"),
        ("error", "CUDA out of memory", "its message says that memory ran out"),
        ("unsupported", "CUDA out of memory", "its message says that memory ran out"),
    ],
)
def test_a_trial_that_did_not_fit_says_why(outcome: str, message: str, told: str) -> None:
    record = _record(lambda policy, batch: "fits" if batch <= PREDICTED[policy] else "oom")
    one = next(one for one in record["fit"]["trials"] if one["outcome"] == "oom")
    one |= {"outcome": outcome, "message": message}
    assert any(told in fault for fault in inconsistencies(record))
