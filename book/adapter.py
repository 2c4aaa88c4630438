"""What `explorable` must know of this book."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

import ironlaw
from book import cards, search_order, story
from book.accounting import ACCOUNTINGS
from book.commands import command
from book.notebook_wheel import WHEEL
from book.pace import off
from book.theme import app, social
from book.units import UNITS
from explorable.book import Apart, Book, Survey
from gpu_bench.cases.suites import SUITES
from gpu_bench.record import load, report, tables
from gpu_bench.record.judgement import MEASURED
from gpu_bench.record.store import RESULTS, SCHEMA_FILE
from tools.accuracy.page import AccuracyExtension
from tools.accuracy.survey import population, utilization_at

HERE = Path(__file__).parent
ENGINE = Path(ironlaw.__file__).parent


class Records:
    """The records of `gpu_bench`, read by its own loader."""

    plan: Mapping[str, Sequence[str]] = {suite: tuple(case.name for case in cases) for suite, cases in SUITES.items()}
    measured = MEASURED
    schema_file = SCHEMA_FILE

    def schema(self) -> Mapping[str, Any]:
        """The schema of a record."""
        return load.schema()

    def checked(self, text: bytes, place: str) -> tuple[Mapping[str, Any] | None, Sequence[str]]:
        """The record in a file with everything that follows from it, or its faults."""
        return load.checked(text, place)

    def command(self, suite: str, case: str = "") -> str:
        """The command that measures a suite, or one of its cases."""
        return command(suite, case)

    def tables(self, documents: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
        """All numbers of a suite, a flat row for each case or part of it."""
        rows = [row for document in documents for row in report.flat_rows(document)]
        return {"csv": tables.to_csv(rows), "json": tables.to_json(rows)}


BOOK = Book(
    # What readers of this book have kept in their browsers since its first release begins with this.
    id="iron-law",
    library=ENGINE,
    release=ironlaw.__version__,
    # Reading files and the command line: few pages ask for them. YAML is read by PyYAML, without its part in C.
    later={"ironlaw.cli": ENGINE / "cli", "ironlaw.files": ENGINE / "files", "yaml": Path(yaml.__file__).parent},
    # What Act 1 imports, and with it nearly every page that asks the engine.
    compiled=("ironlaw.training_memory", "ironlaw.optimizer", "ironlaw.accelerator", "ironlaw.training.dynamics"),
    vocabulary="ironlaw.vocabulary",
    units=UNITS,
    ledger=HERE / "ledger.json",
    ledger_address="lab/ledger.schema.json",
    colors={
        "compute": "#00763a",
        "memory": "#006395",
        "optimizer": "#6a3fa5",
        "data": "#b84c00",
        "activation": "#5d7482",
    },
    styles=(HERE / "theme/overrides/assets/css",),
    records=Records(),
    statuses={"diverged": "the loss diverged"},
    waiting="Waiting for a GPU",
    accountings=ACCOUNTINGS,
    survey=Survey(utilization_at, population),
    difference=off,
    # What an engine predicts for every batch of a card, and 222 answers of the planner: both take long.
    blocks={"fit": Apart("book.fit.block", (RESULTS,)), "plans": Apart("book.plans.block")},
    extensions=(AccuracyExtension(),),
    cards=cards.cards,
    story=story,
    wheel=WHEEL,
    reads={"book.runs": (HERE.parent / "gpu_bench/results",)},
    scripts=HERE / "theme/scripts.toml",
    licenses=HERE / "theme/licenses",
    search=search_order.settings,
    finish=(app.write, social.write),
    without_script="The engine answers the same questions in a shell: <code>python -m ironlaw --help</code>.",
)
