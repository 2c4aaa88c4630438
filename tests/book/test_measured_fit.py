"""The guide to a small card: tables and curves come from the engine, marks from records; the two are never mixed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from xml.etree.ElementTree import tostring

import pytest

from book.fit import SETTINGS, SHOWS, Options, build, parse
from explorable.measured.tables.options import OptionError
from gpu_bench.cases.card import POLICIES, trial
from gpu_bench.predict.outlook import curve, fit_cases, measured_memory, measured_speed
from gpu_bench.predict.prediction import predicted_batch
from ironlaw.memory.ledger import CUDA_CONTEXT
from tests.explorable.measured.made import Site

CASES = fit_cases(16)
SMALL = CASES[0]


def _fit(**changes: Any) -> dict[str, Any]:
    """A record of a fit, as far as the curves read it."""
    trials = [
        {"policy": "amp", "batch": 12, "outcome": "fits", "peak": 2 * 2**30},
        {"policy": "amp", "batch": 16, "outcome": "oom", "peak": None},
    ]
    return {"name": SMALL.name, "fit": {"context": None, "trials": trials, **changes}, "summary": None}


def _trained(card: str, **changes: Any) -> dict[str, Any]:
    case = trial(SMALL, "amp", 4).as_dict() | {"name": "any", "warmup": 9, "memory_limit": 0} | changes
    summary = {"tokens_per_s": {"median": 61_000.0}}
    return {"name": "any", "fit": None, "case": case, "device": {"name": card}, "summary": summary}


def test_the_curves_are_those_of_the_search_and_their_ends_its_predictions() -> None:
    for case in CASES:
        for policy in POLICIES:
            largest = curve(case, policy).largest
            assert (largest.batch if largest else None) == predicted_batch(case, policy, "cuda")


def test_every_setting_saves_memory_over_the_one_before_and_a_larger_batch_takes_no_less() -> None:
    for case in CASES:
        drawn = [curve(case, policy) for policy in SETTINGS.values()]
        for one in drawn:
            memory = [point.memory for point in one.points]
            assert memory == sorted(memory)
        for before, after in pairwise(drawn):
            assert after.points[-1].memory < before.points[-1].memory


def test_no_card_but_those_of_the_suite() -> None:
    with pytest.raises(ValueError, match="no card of 12 GB is emulated; allowed: 16"):
        fit_cases(12)


def test_measured_memory_is_what_fitted_with_the_context_on_top() -> None:
    assert measured_memory(SMALL, "amp", [_fit()]) == [(12, 2 * 2**30 + CUDA_CONTEXT)]
    assert measured_memory(SMALL, "amp", [_fit(context=7)]) == [(12, 2 * 2**30 + 7)]
    assert measured_memory(SMALL, "fp32", [_fit()]) == []
    assert measured_memory(CASES[1], "amp", [_fit()]) == []


@pytest.mark.parametrize(
    ("card", "changes", "count"),
    [
        ("NVIDIA GeForce RTX 5080", {}, 1),
        ("NVIDIA H200", {}, 0),
        ("NVIDIA GeForce RTX 5080", {"compile": "none", "compile_region": "model"}, 0),
        ("NVIDIA GeForce RTX 5080", {"sequence": 512}, 0),
    ],
    ids=["the card itself", "another GPU", "uncompiled", "shorter"],
)
def test_a_measured_speed_is_of_this_card_and_of_this_setting(card: str, changes: dict[str, Any], count: int) -> None:
    found = measured_speed(SMALL, "amp", [_fit(), _trained(card, **changes)])
    assert found == [(4, 61_000.0)] * count


@pytest.mark.parametrize("show", ["memory", "tokens"])
def test_curves_say_in_words_how_far_each_size_comes_and_that_they_are_predicted(show: str) -> None:
    html = tostring(build(Options(16, show, "Curves."), []), encoding="unicode")
    for size in ("124M", "355M", "774M", "1558M"):
        assert f"{size}: plain" in html
    assert "conservative does not fit, it needs" in html, "GPT-2 XL"
    assert "Lines are predictions of the engine" in html
    assert "No point is measured yet" in html


def test_measured_points_are_drawn_as_marks_and_counted() -> None:
    before = tostring(build(Options(16, "memory", "Curves."), []), encoding="unicode")
    after = tostring(build(Options(16, "memory", "Curves."), [_fit()]), encoding="unicode")
    assert "Marks are measured: 1." in after
    assert "not measured yet" not in after
    assert len(after) > len(before)


def test_a_page_shows_them_with_the_mistakes_of_its_author(site: Site) -> None:
    site.page("/// fit | 16\nshow: batches\ncaption: What fits\n///\n")
    assert "What fits" in site.build()
    site.page("# A\n\n/// fit | 12\nshow: batches\ncaption: What fits\n///\n")
    (told,) = site.defects()
    assert "no card of 12 GB is emulated" in told


@pytest.mark.parametrize("show", ["batches", "speeds"])
def test_tables_hold_every_setting_and_size_and_say_that_nothing_of_them_is_measured(show: str) -> None:
    made = build(Options(16, show, "Table"), [])
    found = [[cell.text or "" for cell in row] for row in made.iter("tr")]
    assert found[0] == ["Setting", "124M", "355M", "774M", "1558M"]
    assert [row[0] for row in found[1:]] == list(POLICIES)
    expected = []
    for policy in POLICIES:
        largest = [curve(case, policy).largest for case in CASES]
        values = [None if one is None else one.batch if show == "batches" else one.tokens_per_s for one in largest]
        expected.append(["none" if value is None else f"{value:,.0f}" for value in values])
    assert [row[1:] for row in found[1:]] == expected
    assert "not measured" in tostring(made, encoding="unicode")


@pytest.mark.parametrize(
    ("argument", "text", "told"),
    [
        ("", "show: memory\ncaption: A", "names no card"),
        ("16", "show: money\ncaption: A", "'show' is 'money'"),
        ("16", "caption: A", "needs 'show' and 'caption'"),
        ("16", "show: [", "not valid YAML"),
        ("16", "show: memory\ncaption: <b>\2</b>", "HTML is not allowed"),
    ],
)
def test_mistakes_of_the_author_are_named(argument: str, text: str, told: str) -> None:
    with pytest.raises(OptionError, match=told):
        parse(argument, text)


def test_what_the_page_may_show_is_known() -> None:
    for show in SHOWS:
        assert parse("16", f"show: {show}\ncaption: A").show == show
    with pytest.raises(OptionError, match="no card of 12 GB"):
        build(Options(12, "memory", "A"), [])
