"""The claims of the source documents, all of them: none is broken, every check can fail, and the engine decides."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from explorable.measured.claims import data as claims_data
from explorable.measured.claims.judged import Claims, only_given
from explorable.measured.claims.notes import NoteNumber
from explorable.measured.claims.verdict import Stated, judge
from explorable.measured.errors import MeasuredError
from explorable.measured.values import recorded
from explorable.measured.values.computed import Computed
from explorable.measured.values.expressions import Evaluator, Outcome
from ironlaw import vocabulary
from ironlaw.memory.tensors import MemoryLedger
from ironlaw.models.transformer import Transformer
from tools.accuracy.rows import MEASURES, load
from tools.accuracy.setups import row_setup, unasked
from tools.accuracy.survey import population, utilization_at, utilizations

ROOT = Path(__file__).parents[2]
SENTENCE = re.compile(r"[.!?](?=\s|$)")
"""The end of a sentence; a point inside a number has no space behind it."""


def made(computed: Any) -> Claims:
    """The claims of the repository, evaluated by `computed`."""
    loaded = recorded.load(ROOT / "gpu_bench/results", ROOT)
    return Claims(claims_data.load(ROOT / "docs/claims", ROOT), computed, loaded)


@pytest.fixture(scope="module")
def claims(computed: Computed) -> Claims:
    """The claims as the site judges them."""
    found = made(computed)
    assert found.judged
    return found


def test_no_claim_is_broken_and_there_are_hundreds(claims: Claims) -> None:
    assert claims.files.defects == ()
    assert claims.defects == ()
    assert len(claims.judged) == len(claims.files.claims) >= 500


def test_no_claim_is_confirmed_by_its_own_figures(claims: Claims) -> None:
    assert only_given("StageTimes(37, 3, 25, 35).iteration(prefetch=True).total")
    assert not only_given('StageTimes(37, 3, 25, model("gpt2").layers).iteration().total')
    assert only_given("bubble_fraction(4, 1)")
    assert only_given('rent(quantity(32, "hour"), 16)')
    assert only_given('StageTimes(40, 0, 25, 35).iteration().shares["compute"]')
    assert not only_given("resnet50().activation_bytes(64)")
    assert not only_given("energy(1, 400, node_overhead=NODE_OVERHEAD)")
    evidence = ("engine", "pytorch")
    asked = [item for item in claims.judged if item.claim.check.evidence in evidence]
    given = [item for item in asked if only_given(item.claim.check.text)]
    assert len(given) >= 30
    assert "agrees" in {item.verdict for item in given}
    assert "confirmed" not in {item.verdict for item in given}


def test_what_most_systems_do_is_held_against_the_published_runs(claims: Claims) -> None:
    found = utilizations()
    assert len(found) > 400
    assert 0 < found[0] < utilization_at(0.1) < utilization_at(0.5) < utilization_at(0.9) < found[-1] < 1
    assert population() in {f"{len(found)} published steps of {count} publishers" for count in range(10, 100)}
    asked = [item for item in claims.judged if item.claim.check.evidence == "survey"]
    assert len(asked) >= 4
    for item in asked:
        assert item.answer
        assert population() in item.answer.exact
        assert population() in "".join(part for part in item.note if isinstance(part, str))
        if item.claim.stated.low is not None and item.claim.stated.high is not None:
            assert item.also, f"{item.claim.id}: a range is asked for the middle half"
            low, high = (
                utilization_at(share) * (100 if item.claim.format.unit == "%" else 1) for share in (0.25, 0.75)
            )
            assert (item.answer.value, item.also.value) == (low, high), item.claim.id


def test_the_survey_leaves_adapters_out() -> None:
    """Their steps do fewer FLOPs than `flops_per_token` counts: some would reach more than the peak."""
    steps = [row_setup(row) for row in load() for kind in row.measures if MEASURES[kind] == "time" and not unasked(row)]
    assert {setup.adaptation.method for setup in steps} > {"full"}
    assert len(utilizations()) == sum(setup.adaptation.method == "full" for setup in steps)


def test_a_claim_beside_its_range_is_not_confirmed(claims: Claims) -> None:
    """The lowest quarter of the published runs stays far below 45 %, whatever the median does."""
    verdicts = {item.claim.id: item.verdict for item in claims.judged}
    assert utilization_at(0.25) < 0.45 / 1.05
    assert verdicts["lab-real-mfu"] in ("refined", "contradicted")
    assert utilization_at(0.75) > 0.5
    assert verdicts["ch-production-mfu"] in ("refined", "contradicted")


def test_every_document_and_every_verdict_occurs(claims: Claims) -> None:
    assert {item.claim.source.id for item in claims.judged} == {source.id for source in claims.files.sources}
    assert all(claims.counts().values())


def test_every_row_of_the_plans_traceability_table_is_a_claim(claims: Claims) -> None:
    rows = {item.claim.lines[0] for item in claims.judged if item.claim.id.startswith("table8-")}
    assert rows == set(range(218, 234))


def test_most_claims_have_a_check(claims: Claims) -> None:
    assert claims.counts()["open"] < 0.15 * len(claims.judged)


def test_a_contradiction_is_explained_in_two_sentences_with_the_right_value(claims: Claims) -> None:
    for item in claims.judged:
        if item.verdict == "contradicted":
            note = "".join(part if isinstance(part, str) else part.text for part in item.note)
            assert len(SENTENCE.findall(note)) >= 2, item.claim.id
            assert any(isinstance(part, NoteNumber) for part in item.note), item.claim.id


def test_a_refinement_says_what_is_missing(claims: Claims) -> None:
    assert [item.claim.id for item in claims.judged if item.verdict == "refined" and not item.note] == []


def test_every_check_can_fail(claims: Claims) -> None:
    """No tolerance is so wide that a source could have said anything."""
    for item in claims.judged:
        if item.answer and item.claim.tolerance:
            tolerance, computed = item.claim.tolerance, item.answer.value
            also = item.also.value if item.also else None
            stated = item.claim.stated
            factors = ("30", "0.03") if stated.low is not None and stated.high is not None else ("1e4", "1e-4")
            others = {judge(times(stated, factor), tolerance, computed, also) for factor in factors}
            assert others != {"confirmed"}, item.claim.id


def times(stated: Stated, factor: str) -> Stated:
    """The stated value times a factor. No factor changes "at most 0", so a factor above 1 makes it "at least 1"."""
    if stated.low is None and stated.high == 0 and Decimal(factor) > 1:
        return Stated(Decimal(1), None)
    low, high = (None if limit is None else limit * Decimal(factor) for limit in (stated.low, stated.high))
    return Stated(low, high)


def test_arithmetic_puts_at_least_two_figures_together(claims: Claims) -> None:
    for item in claims.judged:
        if item.claim.check.evidence == "arithmetic":
            figures = re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", item.claim.check.text)
            assert len(figures) >= 2, item.claim.id


class InProcess:
    """Evaluates expressions over the engine of this process, so that a test can change a formula of it."""

    def values(self, expressions: Iterable[str], *, from_engine: bool = True) -> dict[str, Outcome | MeasuredError]:
        """The outcome of every expression, or what is wrong with it."""
        evaluator = Evaluator(vocabulary)
        found: dict[str, Outcome | MeasuredError] = {}
        for text in dict.fromkeys(expressions):
            try:
                found[text] = evaluator.evaluate(text, from_engine=from_engine)
            except MeasuredError as error:
                found[text] = error
        return found


def verdicts(names: Iterable[str]) -> dict[str, str]:
    """The verdicts of some claims by the engine of this process; `unexplained` for a contradiction without a note."""
    names = tuple(names)
    found = made(InProcess())
    found.files = replace(found.files, claims=tuple(claim for claim in found.files.claims if claim.id in names))
    assert len(found.files.claims) == len(names)
    return {name: str(found.by_id[name].verdict) if name in found.by_id else "unexplained" for name in names}


def halved(function: Any) -> Any:
    """A formula of the engine with half of its result."""

    @functools.wraps(function)
    def wrong(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named) / 2

    return wrong


@pytest.mark.parametrize(
    ("place", "name", "flipped"),
    [
        (vocabulary, "bubble_fraction", ("notes-naive-bubble", "ch-naive-25-50-percent")),
        (vocabulary, "bubble_overhead", ("notes-gpipe-bubble",)),
        (vocabulary, "ridge_point", ("ch-a100-ridge-153", "ch-h100-ridge-295")),
        (vocabulary, "all_reduce_factor", ("ch-allreduce-factor-2",)),
        (vocabulary, "total_flops", ("ch-llama-8-4e23", "ch-7b-4-2e22")),
        (MemoryLedger, "component", ("lab-gradients-6-gb", "ch-adam-12-gb", "notes-gpt3-350-gb")),
    ],
)
def test_a_wrong_formula_in_the_engine_flips_verdicts(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, flipped: tuple[str, ...]
) -> None:
    right = verdicts(flipped)
    assert set(right.values()) <= {"confirmed", "agrees", "refined"}
    monkeypatch.setattr(place, name, halved(getattr(place, name)))
    wrong = verdicts(flipped)
    assert all(wrong[claim] != right[claim] for claim in flipped), wrong
    monkeypatch.undo()
    assert verdicts(flipped) == right


def test_another_parameter_count_flips_what_the_sources_say_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("plan-small-parameters", "ch-gpt3-175-billion")
    assert set(verdicts(names).values()) == {"confirmed"}
    count = vars(Transformer)["parameters"].func
    monkeypatch.setattr(Transformer, "parameters", property(halved(count)))
    assert set(verdicts(names).values()) <= {"contradicted", "unexplained"}
