"""Measured tables: rows from committed records, or the command that measures what is not there yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from plugins.measured.cells import Cell, cell, paddings, status_text
from plugins.measured.errors import MeasuredError, suggestion
from plugins.measured.evidence import source_line
from plugins.measured.markup import Links, element
from plugins.measured.options import MOST_COLUMNS, Column, OptionError, TableOptions
from plugins.measured.quantities import unit_text
from plugins.measured.records import Record, Records

_DEVICE = Column("Device", "device.name", None, spread=False)


@dataclass(frozen=True)
class Row:
    """One case of a table; `record` is None until it is measured."""

    case: str
    label: str
    record: Record | None


def rows(options: TableOptions, suite: str, records: Records, plan: Mapping[str, Sequence[str]]) -> list[Row]:
    """The rows of a table: the cases asked for, or all of the suite, each with every record that fits.

    Args:
        options: What the author wrote.
        suite: The suite's name.
        records: What is measured.
        plan: Suite -> its cases, as the benchmark defines them.

    Raises:
        OptionError: When the suite or a case does not exist.
    """
    if suite not in {*plan, *records.suites}:
        raise OptionError(f"there is no suite '{suite}'", suggestion(suite, {*plan, *records.suites}))
    measured = [record.case for record in records.select(suite)]
    known = list(dict.fromkeys([*plan.get(suite, ()), *measured]))
    found: list[Row] = []
    for case, label in (options.cases or {name: name for name in known}).items():
        if case not in known:
            raise OptionError(f"suite '{suite}' has no case '{case}'", suggestion(case, known))
        matches = records.select(suite, case=case, device=options.device)
        found += [Row(case, label, record) for record in matches] or [Row(case, label, None)]
    return found


def build(
    options: TableOptions, suite: str, records: Records, plan: Mapping[str, Sequence[str]], links: Links
) -> Element:
    """The HTML of a measured table. Raises `MeasuredError` for anything that a record cannot answer."""
    lines = rows(options, suite, records, plan)
    present = [row.record for row in lines if row.record is not None]
    if not present:
        return _not_measured(options, suite)
    if len({record.device for record in present}) > 1:
        if len(options.columns) + 2 > MOST_COLUMNS:
            raise OptionError("the records come from several devices, which needs a column more", "choose a 'device'")
        options = replace(options, columns=(_DEVICE, *options.columns))
    grid = {id(record): [_cell(record, column) for column in options.columns] for record in present}
    columns = list(zip(*grid.values(), strict=True))
    samples = {item.n for line in grid.values() for item in line if item.n is not None}
    head = element("tr", element("th", "Case", scope="col"), *map(_header, options.columns, columns))
    pads = dict(zip(grid, zip(*(paddings(column) for column in columns), strict=True), strict=True))
    body = element("tbody")
    for row in lines:
        line = element("tr", _row_header(row, grid, links, show_n=len(samples) > 1))
        if row.record is None:
            line.append(_missing(options, suite, row.case))
        else:
            line.extend(map(_data, grid[id(row.record)], pads[id(row.record)]))
        body.append(line)
    table = element("table", element("caption", options.caption), element("thead", head), body, class_="il-table")
    region = element(
        "div", table, class_="il-measured-table__scroll", role="region", aria_label=options.caption, tabindex="0"
    )
    return element("div", region, _note(present, samples), class_="il-measured-table")


def _cell(record: Record, column: Column) -> Cell:
    try:
        return cell(record, column)
    except MeasuredError as error:
        raise OptionError(f"column '{column.label}' of {record.case}: {error.what}", error.fix) from error


def _header(column: Column, cells: Sequence[Cell]) -> Element:
    """A column's header with the unit of its numbers."""
    numeric = [item for item in cells if item.numeric]
    unit = unit_text(numeric[0].unit) if numeric else ""
    header = element("th", column.label, scope="col", class_="il-num" if numeric else "il-text")
    if unit:
        header.append(element("span", f" ({unit})", class_="il-unit"))
    return header


def _row_header(row: Row, grid: Mapping[int, Sequence[Cell]], links: Links, *, show_n: bool) -> Element:
    """The case's name; a measured one links to its raw record and says when the run did not end well."""
    header = element("th", scope="row")
    if row.record is None:
        header.text = row.label
        return header
    href = links.to_record(row.record.file.as_posix())
    title = f"Measured: {row.case}, {source_line(row.record)}"
    name = f"{row.label}, raw record"
    link = element("a", row.label, class_="il-number il-measured", href=href, title=title, aria_label=name)
    header.append(link)
    samples = next((item.n for item in grid[id(row.record)] if item.n is not None), None)
    remarks = [status_text(row.record), f"n = {samples}" if show_n and samples else ""]
    if remark := ", ".join(filter(None, remarks)):
        header.append(element("span", f" {remark}", class_="il-remark"))
    return header


def _data(item: Cell, padding: str) -> Element:
    if not item.numeric:
        return element("td", item.text, class_="il-text")
    style = {} if padding == "0ch" else {"style": f"--il-pad: {padding}"}
    return element("td", item.text, class_="il-num", **style)


def _missing(options: TableOptions, suite: str, case: str) -> Element:
    """The cell of a row that is not measured, across all columns."""
    text = f"not measured yet{_on(options)}; measure it with "
    command = element("code", f"python -m gpu_bench run --suite {suite} --case {case}")
    return element("td", text, command, class_="il-missing", colspan=str(len(options.columns)))


def _not_measured(options: TableOptions, suite: str) -> Element:
    """What stands in place of a table without any record."""
    return element(
        "div",
        element("p", element("strong", options.caption)),
        element("p", f"Not measured yet{_on(options)}. This command measures it:"),
        element("pre", element("code", f"python -m gpu_bench run --suite {suite}")),
        class_="il-measured-table il-not-measured",
    )


def _on(options: TableOptions) -> str:
    return f" on {options.device}" if options.device else ""


def _note(records: Sequence[Record], samples: set[int]) -> Element:
    """The line under a table: where and when it was measured, what the spread means, where the raw data is."""
    sources = "; ".join(dict.fromkeys(source_line(record) for record in records))
    sentences = [f"Measured on {sources}."]
    if samples:
        count = f", n = {min(samples)}" if len(samples) == 1 else ""
        sentences.append(f"Median ± half the interquartile range{count}.")
    sentences.append("Every case links to its raw record.")
    return element("p", " ".join(sentences), class_="il-measured-table__note")
