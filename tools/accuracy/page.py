"""The Markdown block `/// accuracy | part`: tables and figures of the report, computed when the site is built.

The book names its extension in `book/adapter.py`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from pymdownx.blocks import BlocksExtension, BlocksProcessor  # type: ignore[import-untyped]
from pymdownx.blocks.block import Block  # type: ignore[import-untyped]

from explorable.book import Apart
from explorable.measured import wrong
from explorable.shared.errors import AuthorError, nearest
from explorable.shared.locate import Constructs, located, unstamp
from explorable.shared.log import logger
from explorable.shared.markup import element
from tools.accuracy.calculators import CALCULATORS, memory_answers, saved_activations
from tools.accuracy.driver import RUNS, steps
from tools.accuracy.experience_page import (
    against_utilization,
    coverage,
    experience_sources,
    experience_totals,
    goals,
    overhead,
    regime_table,
    reserved_table,
)
from tools.accuracy.figure import figure
from tools.accuracy.methods import Line, Rival, methods, reasons_to_wait
from tools.accuracy.predict import Comparison
from tools.accuracy.report import GROUPS, TARGETS, Summary, percentile, reason, report
from tools.accuracy.tables import Cell, spaced, table

log = logger("accuracy")


def groups() -> Element:
    """Median and 90th percentile of each group, against its target."""
    rows: list[list[Cell]] = []
    for summary in report().groups:
        target, met = TARGETS.get(summary.group), summary.met
        goal = "none" if target is None else f"{target.median:.0%} and {target.p90:.0%}: {'met' if met else 'missed'}"
        rows.append([GROUPS[summary.group], f"{summary.count}", *_errors(summary), goal])
    header = ["Group", "Rows", "Median %", "90th percentile %", "Signed median %", "Target"]
    return table("Error of the engine's predictions", header, rows, numbers=range(1, 5))


def halves() -> Element:
    """The same for the half of the rows that later decisions may look at, and the half that they may not."""
    rows: list[list[Cell]] = [[GROUPS[s.group], name, f"{s.count}", *_errors(s)] for name, s in report().halves]
    header = ["Group", "Half", "Rows", "Median %", "90th percentile %", "Signed median %"]
    return table("Error of the two halves", header, rows, numbers=range(2, 6))


def sources() -> Element:
    """The same by source."""
    made = report()
    links = {c.row.source.title: c.row.source.url for c in made.comparisons}
    rows: list[list[Cell]] = [
        [(title, links[title]), GROUPS[s.group], f"{s.count}", f"{100 * s.median:.1f}", f"{100 * s.signed:+.1f}"]
        for title, s in made.sources
    ]
    header = ["Source", "Group", "Rows", "Median %", "Signed median %"]
    return table("Error by source", header, rows, numbers=range(2, 5))


def worst() -> Element:
    """The five rows with the largest error of each group that has a target, and why."""
    box = element("div")
    for group in TARGETS:
        rows: list[list[Cell]] = [
            [c.row.name, _number(c.published), _number(c.predicted), f"{100 * c.error:+.0f}", reason(c)]
            for c in report().worst(group)
        ]
        unit = "s" if group == "time" else "GiB"
        header = ["Run", f"Published {unit}", f"Predicted {unit}", "Error %", "Why"]
        box.append(table(f"Worst of {GROUPS[group].lower()}", header, rows, numbers=range(1, 4)))
    return box


def mechanisms() -> Element:
    """The driver's view with one mechanism more in each line."""
    made = steps()
    rows: list[list[Cell]] = [
        [
            step.mechanism,
            *(text for s in step.summaries for text in (f"{100 * s.median:.1f}", f"{100 * s.signed:+.1f}")),
        ]
        for step in made
    ]
    runs = [f"{name}, {summary.count} rows" for (name, _), summary in zip(RUNS, made[-1].summaries, strict=True)]
    header = ["Counted so far", *(f"{run}: {what} %" for run in runs for what in ("median", "signed"))]
    return table("Error of the driver's view, mechanism by mechanism", header, rows, numbers=range(1, len(header)))


def constants() -> Element:
    """The engine's constants that are not laws of nature, and the rows that chose them."""
    rows: list[list[Cell]] = [[c.name, c.value, c.origin, c.rows] for c in report().constants]
    return table("Constants and their origin", ["Constant", "Value", "Origin", "Rows used"], rows, numbers=())


def calculators() -> Element:
    """How near each calculator comes to the peaks that the allocator reported, and the engine on the same rows."""
    rows: list[list[Cell]] = []
    for place, calculator in enumerate(CALCULATORS):
        asked = [a for a in memory_answers() if a.others[place] is not None]
        published = [a.published for a in asked]
        theirs, ours = (
            [abs(answer / true - 1) for answer, true in zip(answers, published, strict=True) if answer is not None]
            for answers in ([a.others[place] for a in asked], [a.engine for a in asked])
        )
        rows.append([calculator.name, f"{len(asked)}", *_spread(theirs), *_spread(ours)])
    header = ["Calculator", "Rows", "Median %", "90th percentile %", "This engine: median %", "90th percentile %"]
    return table("Error of peak memory, on the rows that a calculator answers", header, rows, numbers=range(1, 6))


def method_table() -> Element:
    """Errors by method and stack."""
    rows: list[list[Cell]] = [
        [
            x.method,
            x.stack,
            x.level,
            f"{x.asked} of {x.rows}",
            *("" if value is None else f"{100 * value:.1f}" for value in (x.median, x.p90)),
            "" if x.coverage is None else f"{100 * x.coverage:.0f}",
        ]
        for x in methods()
    ]
    header = ["Method", "Stack", "What", "Rows asked", "Median %", "90th percentile %", "In the band %"]
    return table("Error by method and stack", header, rows, numbers=range(3, len(header)))


def rival_table() -> Element:
    """The engine and the other calculators on rows of the engine, and who is nearer than it."""
    rows: list[list[Cell]] = []
    nearer = []
    for x in methods():
        known = [(c.name, rival) for c, rival in zip(CALCULATORS, x.rivals, strict=False) if rival is not None]
        if not known:
            continue
        ours = None if x.median is None or x.p90 is None else Rival(x.asked, x.median, x.p90)
        if ours:
            nearer += [
                _nearer(name, x, one, ours) for name, one in known if one.median < ours.median or one.p90 < ours.p90
            ]
        others = sorted(known, key=lambda answer: answer[1].median)
        listed = ", ".join(f"{name} {_pair(one)} ({one.rows})" for name, one in others)
        rows.append([x.method, x.stack, f"{x.asked} of {x.rows}", _pair(ours) if ours else "not asked", listed])
    what = "median / 90th percentile %"
    header = ["Method", "Stack", "Rows of the engine", f"This engine: {what}", f"Others, nearest first: {what} (rows)"]
    caption = "Error of allocated memory on the engine's rows, or on all rows where it cannot be asked"
    said = f"Nearer than this engine by the median or by the 90th percentile: {'; '.join(nearer) or 'nobody'}."
    return element("div", table(caption, header, rows, numbers=(2, 3)), element("p", said))


def _pair(one: Rival) -> str:
    return f"{100 * one.median:.1f} / {100 * one.p90:.1f}"


def _nearer(name: str, line: Line, theirs: Rival, ours: Rival) -> str:
    pairs = (("median", theirs.median, ours.median), ("90th percentile", theirs.p90, ours.p90))
    said = ", ".join(f"{what} {100 * one:.1f} % against {100 * other:.1f} %" for what, one, other in pairs)
    return f"{name} on {theirs.rows} rows of {line.stack}, {line.method} ({said})"


def _spread(errors: Sequence[float]) -> tuple[str, str]:
    """Median and 90th percentile in percent; empty where there is none."""
    if not errors:
        return "", ""
    return f"{100 * statistics.median(errors):.1f}", f"{100 * percentile(errors, 0.9):.1f}"


def waiting_table() -> Element:
    """Why published values are not compared yet, and how many."""
    rows: list[list[Cell]] = [[why, f"{values}", f"{count}"] for why, values, count in reasons_to_wait()]
    return table("Published values that the engine cannot be asked for", ["Why", "Values", "Rows"], rows, (1, 2))


def calculator_scope() -> Element:
    """What each calculator counts, and its address."""
    rows: list[list[Cell]] = [[(c.name, c.url), c.covers] for c in CALCULATORS]
    return table("What the calculators count", ["Calculator", "Counts"], rows, numbers=())


def activations() -> Element:
    """Saved activations of GPT-2 124M in three precisions."""
    rows: list[list[Cell]] = [
        [a.who, f"{a.bf16:,.0f}", f"{a.autocast:,.0f}", f"{a.fp32:,.0f}"] for a in saved_activations()
    ]
    header = ["Who answers", "BF16", "BF16 autocast", "FP32"]
    return table("MiB that GPT-2 124M saves for backward", header, rows, numbers=range(1, 4))


def time_plot() -> Element:
    """Step times, predicted against published."""
    points = report().of("time")
    single = [c for c in points if c.row.get("tensor", 1) == c.row.get("pipeline", 1) == 1]
    split = [c for c in points if c not in single]
    series = (("data parallel or one device", single), ("tensor or pipeline parallel", split))
    return _figure(series, "s", "Step time, predicted against published")


def memory_plot() -> Element:
    """Peak memory, predicted against published."""
    series = tuple((GROUPS[group], report().of(group)) for group in ("memory", "device memory"))
    return _figure(series, "GiB", "Peak memory, predicted against published")


def proof() -> Element:
    """For the home page: every published step time against the engine's, and their median error in a sentence."""
    times = report().of("time")
    sources = len({c.row.source.title for c in times})
    middle = statistics.median(abs(c.error) for c in times)
    short = sum(c.error < 0 for c in times)
    said = spaced(
        f"We asked the engine for the step time of {len(times)} training runs that others published in {sources} "
        f"places, from one card to thousands. Half of the predicted times are within {middle:.1%} of the published "
        f"ones; {short} of the {len(times)} are too short."
    )
    return element("div", time_plot(), element("p", said), class_="il-proof")


def rows() -> Element:
    """Every row, folded away."""
    box = element("details", element("summary", f"All {len(report().comparisons)} rows"))
    for group, name in GROUPS.items():
        compared = report().of(group)
        units = {c.unit for c in compared}
        # If all rows have one unit, it stands in the caption, unless the caption is the unit's name.
        unit = units.pop() if len(units) == 1 else None
        listed: list[list[Cell]] = [
            [
                (c.row.source.title, c.row.source.url),
                c.row.name,
                _number(c.published),
                _number(c.predicted),
                *([c.unit] if unit is None else []),
                f"{100 * c.error:+.1f}",
            ]
            for c in compared
        ]
        header = ["Source", "Run", "Published", "Predicted", *(["Unit"] if unit is None else []), "Error %"]
        caption = f"{name}, in {unit}" if unit and unit != name.lower() else name
        box.append(table(caption, header, listed, numbers=(2, 3, len(header) - 1)))
    return box


PARTS: dict[str, Callable[[], Element]] = {
    "groups": groups,
    "halves": halves,
    "sources": sources,
    "experience": experience_totals,
    "experience-sources": experience_sources,
    "goals": goals,
    "against-utilization": against_utilization,
    "overhead": overhead,
    "worst": worst,
    "regimes": regime_table,
    "reserved": reserved_table,
    "methods": method_table,
    "rivals": rival_table,
    "waiting": waiting_table,
    "coverage": coverage,
    "mechanisms": mechanisms,
    "constants": constants,
    "calculators": calculators,
    "calculator-scope": calculator_scope,
    "activations": activations,
    "time-plot": time_plot,
    "memory-plot": memory_plot,
    "proof": proof,
    "rows": rows,
}


def made(part: str, content: str) -> Element:
    """A part of the page; `content` is empty."""
    return PARTS[part]()


APART = Apart(f"{__name__}.made", (Path(__file__).parent,))
"""A part takes as long as all published runs do, which the engine is asked for."""


def wrong_row(form: str) -> list[Element]:
    """Where a reader says that a row is read wrongly; nothing without the page's form for it."""
    if not form:
        return []
    address = wrong.filled(form, "", "a published run of the accuracy page")
    link = element("a", "Number wrong? Tell us", href=address)
    return [element("p", "A row that is read wrongly, or a source that says something else: ", link)]


class _AccuracyBlock(Block):  # type: ignore[misc]
    """`/// accuracy | part`, without content."""

    NAME = "accuracy"
    ARGUMENT = True

    def on_create(self, parent: Element) -> Element:
        part, line = unstamp(self.argument)
        part = part.strip()
        box = SubElement(parent, "div", {"class": "il-accuracy"})
        if part == "wrong":
            box.extend(wrong_row(located(self.md).page.report))
        elif part in PARTS:
            try:
                box.append(located(self.md).elements.element(APART, part))
            except AuthorError as error:
                self._complain(line, error.what, error.fix)
        else:
            what = f"there is no part '{part}' of the accuracy report"
            self._complain(line, what, nearest(part, [*PARTS, "wrong"]))
        return box

    def _complain(self, line: int | None, what: str, fix: str) -> None:
        # A warning fails the strict build; `mkdocs serve` goes on.
        log.warning("%s", located(self.md).defect(line, what, fix))


class AccuracyExtension(BlocksExtension):  # type: ignore[misc]
    """The block for pages that show how accurate the engine is."""

    constructs = Constructs(blocks=("accuracy",))
    apart: ClassVar = {"accuracy": APART}

    def extendMarkdownBlocks(self, md: Markdown, block_mgr: BlocksProcessor) -> None:  # noqa: N802
        """Register the block."""
        block_mgr.register(_AccuracyBlock, {})


def _errors(summary: Summary) -> list[Cell]:
    return [f"{100 * summary.median:.1f}", f"{100 * summary.p90:.1f}", f"{100 * summary.signed:+.1f}"]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _figure(series: Sequence[tuple[str, Sequence[Comparison]]], unit: str, title: str) -> Element:
    count = sum(len(points) for _, points in series)
    within = sum(abs(c.error) <= 0.25 for _, points in series for c in points)
    description = f"{within} of {count} runs lie within 25 % of the diagonal. All values are in the table of rows."
    caption = element("figcaption", f"{title}. The band is 25 % either way: {within} of {count} runs lie in it.")
    return element("figure", figure(series, unit, title, description), caption, class_="il-measured-plot")
