"""The fit of the calibration: the file holds it, it never sees what it is judged by, and it finds what was put in."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from ironlaw.calibration import KINDS, Features, Model, coefficients
from ironlaw.calibration.coefficients import FILE
from tools.accuracy import calibrate
from tools.accuracy.baseline import best, carried_over, hindsight, utilization
from tools.accuracy.experience import ENOUGH, experience, made_of
from tools.accuracy.mixed_model import PRIORS, Prior, Sample, fit
from tools.accuracy.observations import Observation, observations, publisher
from tools.accuracy.report import report
from tools.accuracy.rows import Row
from tools.accuracy.validation import leave_one_source_out

REFIT = "the physics or the rows have changed: run `python -m tools.accuracy.calibrate` and commit the file it writes"


@cache
def seen() -> tuple[Observation, ...]:
    return observations(report().comparisons)


def of(kind: str) -> tuple[Observation, ...]:
    return tuple(o for o in seen() if o.kind == kind)


@dataclass(frozen=True)
class _Kept(Row):
    """A row that is never fitted."""

    never_fitted: bool = True


def kept(o: Observation) -> Observation:
    row = o.comparison.row
    never = _Kept(row.name, row.settings, row.measures, row.source, row.shape)
    return replace(o, comparison=replace(o.comparison, row=never))


def test_the_file_is_what_a_fit_to_the_rows_gives_now() -> None:
    assert calibrate.main(["--check"]) == 0, REFIT


def test_the_file_says_that_it_is_written_and_by_what() -> None:
    text = Path(FILE).read_text(encoding="utf-8")
    assert text.startswith("# Do not edit: `python -m tools.accuracy.calibrate` writes this")


def test_a_row_that_is_never_fitted_changes_no_coefficient() -> None:
    comparisons = [o.comparison for o in seen()]
    secret = kept(of("time")[0]).comparison
    wild = replace(secret, published=100 * secret.published)
    assert wild not in [o.comparison for o in observations([*comparisons, wild])]
    assert calibrate.fitted(observations([*comparisons, wild])) == calibrate.fitted(seen())


def test_no_row_that_is_never_fitted_is_seen_today() -> None:
    assert not any(getattr(o.comparison.row, "never_fitted", False) for o in seen())


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_is_judged_by_a_fit_that_never_saw_it(kind: str) -> None:
    lessons: list[set[str]] = []

    def spy(rows: Sequence[Observation], of_kind: str) -> Model:
        assert of_kind == kind
        lessons.append({o.source for o in rows})
        return calibrate.model(rows, of_kind)

    judged = leave_one_source_out(of(kind), kind, spy)
    everyone = {o.source for o in of(kind)}
    assert sorted(map(sorted, lessons)) == sorted(sorted(everyone - {source}) for source in everyone)
    assert [j.observation for j in judged] == list(of(kind))


def test_what_a_source_published_has_no_part_in_how_it_is_judged() -> None:
    source = "MosaicML llm-foundry"
    changed = [
        replace(o, comparison=replace(o.comparison, published=3 * o.comparison.published)) if o.source == source else o
        for o in of("time")
    ]
    before, after = leave_one_source_out(of("time"), "time"), leave_one_source_out(changed, "time")
    for a, b in zip(before, after, strict=True):
        assert ((a.low, a.high) == (b.low, b.high)) == (a.observation.source == source)


def test_tables_of_one_paper_and_runs_of_one_program_are_one_source() -> None:
    titles = {o.comparison.row.source.title: publisher(o.comparison.row) for o in seen()}
    assert len({source for title, source in titles.items() if title.startswith("Korthikanti")}) == 1
    assert all("," not in source and source for source in titles.values())


def test_the_hash_knows_published_values_and_no_order() -> None:
    rows = of("time")
    measured = rows[0].comparison.row
    other = replace(measured, measures={kind: 2 * value for kind, value in measured.measures.items()})
    moved = replace(rows[0], comparison=replace(rows[0].comparison, row=other))
    assert calibrate.digest(rows) == calibrate.digest(rows[::-1]) != calibrate.digest([moved, *rows[1:]])


def made_up(level: float, between: float, within: float, sources: int, runs: int) -> list[Sample]:
    draw = random.Random(7)
    shifts = [draw.gauss(level, between) for _ in range(sources)]
    return [
        Sample(f"source {number}", Features("data-center"), draw.gauss(shift, within))
        for number, shift in enumerate(shifts)
        for _ in range(runs)
    ]


def test_the_fit_finds_the_level_and_the_spreads_of_made_up_rows() -> None:
    made = fit(made_up(0.2, 0.1, 0.05, 60, 20), Prior(1.0, (0.001, 0.001, 0.001, 0.001), 0.001, 0.1, 0.001, 0.1))
    assert made.mean[made.terms.index("level")] == pytest.approx(0.2, abs=0.03)
    assert made.between**0.5 == pytest.approx(0.1, rel=0.2)
    assert made.within**0.5 == pytest.approx(0.05, rel=0.2)


def test_many_rows_of_one_source_weigh_hardly_more_than_a_few() -> None:
    prior = PRIORS["time"]
    few, many = (
        fit(
            [*made_up(0.0, 0.0, 0.02, 6, 5), *(Sample("loud", Features("data-center"), 0.5) for _ in range(count))],
            prior,
        )
        for count in (5, 500)
    )
    place = few.terms.index("level")
    assert abs(many.mean[place] - few.mean[place]) < 0.03


def test_an_outlier_moves_the_level_less_than_it_would_a_mean() -> None:
    rows = made_up(0.1, 0.0, 0.02, 6, 5)
    wild = [*rows, Sample("source 0", Features("data-center"), 5.0)]
    prior = Prior(1.0, (0.001, 0.001, 0.001, 0.001), 0.001, 0.05, 0.001, 0.05)
    levels = [made.mean[made.terms.index("level")] for made in (fit(rows, prior), fit(wild, prior))]
    assert abs(levels[1] - levels[0]) < (5.0 - 0.1) / len(wild) / 4


def test_without_any_row_only_the_prior_speaks() -> None:
    made = fit([], PRIORS["time"])
    assert list(made.mean) == [0, 0]
    assert made.covariance[0][0] == pytest.approx(PRIORS["time"].level ** 2)


def test_more_sources_make_a_narrower_band() -> None:
    few, many = (fit(made_up(0.1, 0.05, 0.05, count, 5), PRIORS["time"]) for count in (2, 20))
    assert many.covariance[0][0] < few.covariance[0][0]


def test_the_bands_cover_what_the_report_says() -> None:
    for total in experience().totals:
        judged = [j for j in experience().judged if j.observation.kind == total.kind]
        inside = [j.low <= j.observation.comparison.published <= j.high for j in judged]
        assert total.rows == len(judged)
        assert total.coverage == pytest.approx(sum(inside) / len(inside))


def test_experience_takes_nothing_away_from_times() -> None:
    total = next(t for t in experience().totals if t.kind == "time")
    assert total.calibrated < total.physics + 0.01


def test_installed_coefficients_have_every_kind_and_as_many_runs_as_rows() -> None:
    for kind in KINDS:
        assert sum(cell.runs for cell in coefficients()[kind].cells) == len(of(kind))


def test_the_best_utilization_is_no_worse_than_the_median_one() -> None:
    values = [0.3, 0.31, 0.5, 0.52, 0.53]

    def miss(u: float) -> float:
        return statistics.median(abs(v / u - 1) for v in values)

    assert miss(best(values)) <= miss(statistics.median(values))


def test_utilization_is_model_flops_over_dense_peak() -> None:
    run = "7b, 8 x a100-80, batch 6 x 2048"  # 37,130 tokens/s by the source
    mosaic = next(o for o in of("time") if o.source.startswith("MosaicML") and run in o.comparison.row.name)
    flops_per_token = 6 * 6.66e9 + 12 * 32 * 4096 * 2048
    assert utilization(mosaic) == pytest.approx(flops_per_token * 37130 / (8 * 312e12), rel=0.05)


@pytest.mark.full
def test_a_utilization_carried_over_knows_nothing_of_its_source() -> None:
    rows = list(of("time"))
    source = rows[0].source
    faster = [
        replace(o, comparison=replace(o.comparison, published=o.comparison.published / 2)) if o.source == source else o
        for o in rows
    ]
    for o, before, after in zip(rows, carried_over(rows), carried_over(faster), strict=True):
        if o.source == source and before is not None and after is not None:
            assert 1 + after == pytest.approx(2 * (1 + before))


def test_a_source_with_one_run_is_met_exactly_in_hindsight() -> None:
    lonely = of("time")[0]
    assert hindsight([lonely]) == [0]


@pytest.mark.full
def test_goals_name_every_source_that_loses() -> None:
    made = made_of(seen())
    goal = next(g for g in made.goals if g.name == "Utilization in hindsight")
    losers = [
        f.source for f in made.sources if f.hindsight is not None and f.rows >= ENOUGH and f.calibrated >= f.hindsight
    ]
    assert all(source in goal.where for source in losers)
    assert goal.met == (2 * len(losers) <= sum(f.hindsight is not None and f.rows >= ENOUGH for f in made.sources))
