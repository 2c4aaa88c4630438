"""The pages of measurements ask for what records hold: they stay right on the day the first record of a GPU arrives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from explorable.measured.tables.cells import Line
from explorable.measured.tables.options import TableOptions, parse_options
from explorable.measured.tables.table import rows
from explorable.measured.values.recorded import Record, Records, described, plan
from gpu_bench.cases.suites import SUITES
from tests.explorable.measured.made import ROOT

PREFIX = {"cases": "", "points": "points.0.", "policies": "fit.policies.0.", "runs": "arms.runs.plain."}
PAGES = [page for page in sorted((ROOT / "docs/measured").glob("*.md")) if page.stem != "waiting"]
"""But for the list of what waits, which is no table."""
CHAPTER = [page for page in (ROOT / "docs/chapter").rglob("*.md") if "\n/// measured | " in page.read_text("utf-8")]
"""Pages of the chapter that show tables of records."""
CURVES = {
    suite for suite, cases in SUITES.items() if {case.kind for case in cases} <= {"failure", "hybrid", "hybrid-memory"}
}
"""Suites whose records are curves: the chapter's figures and sentences show them."""
_BLOCK = re.compile(r"^/// measured \| (\S+)\n(.*?)\n^///$", re.MULTILINE | re.DOTALL)


def _tables(page: Path) -> Iterator[tuple[str, TableOptions]]:
    for suite, options in _BLOCK.findall(page.read_text("utf-8")):
        yield suite, parse_options(options)


def _paths(options: TableOptions) -> Iterator[str]:
    for column in options.columns:
        yield from filter(None, (column.path, column.per, column.ratio, column.error))
    if options.plot is not None and options.plot.x:
        yield options.plot.x


@pytest.mark.parametrize("page", [*PAGES, *CHAPTER], ids=lambda page: page.stem)
def test_every_column_is_described_by_the_schema_and_every_case_exists(page: Path) -> None:
    found = list(_tables(page))
    assert found, "a page of measurements shows some"
    for suite, options in found:
        line = Line(Record(PurePosixPath(f"{suite}/any--device.json"), {}), PREFIX[options.rows])
        unknown = [path for path in _paths(options) if path != "first" and not described(line.path(path))]
        assert unknown == [], options.caption
        # Raises for a case that the benchmark does not have.
        assert rows(options, suite, Records(Path(), ()))


def test_every_suite_of_the_benchmark_has_its_table() -> None:
    shown = {suite for page in PAGES for suite, _ in _tables(page)}
    assert shown == set(SUITES) - CURVES


def test_every_case_stands_in_a_table_of_the_pages() -> None:
    shown = {
        (suite, row.case)
        for page in PAGES
        for suite, options in _tables(page)
        for row in rows(options, suite, Records(Path(), ()))
    }
    missing = [
        (suite, case)
        for suite, cases in plan().items()
        for case in cases
        if suite not in CURVES and (suite, case) not in shown
    ]
    assert missing == []


def test_every_case_that_is_a_curve_is_asked_for_in_the_chapter_or_its_study() -> None:
    files = [*sorted((ROOT / "docs/chapter").rglob("*.[mp][dy]")), ROOT / "docs/reference/prediction.md"]
    text = "".join(page.read_text("utf-8") for page in files)
    tables = [table for page in files for table in _tables(page)]
    shown = {(suite, row.case) for suite, options in tables for row in rows(options, suite, Records(Path(), ()))}
    assert CURVES
    asked = [(suite, case) for suite in sorted(CURVES) for case in plan()[suite]]
    assert [
        (suite, case) for suite, case in asked if f"{suite}/{case}" not in text and (suite, case) not in shown
    ] == []
