"""Measured tables: rows from committed records, or the command that measures what is not there yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from plugins.measured.cells import Filled, fill, status_text
from plugins.measured.errors import suggestion
from plugins.measured.evidence import source_line
from plugins.measured.markup import Links, element
from plugins.measured.options import MOST_COLUMNS, Column, OptionError, TableOptions
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
    columns = [fill(column, present) for column in options.columns]
    samples = {item.n for column in columns for item in column.cells if item.n is not None}
    body, position = element("tbody"), 0
    for row in lines:
        line = element("tr")
        if row.record is None:
            line.extend([element("th", row.label, scope="row"), _missing(options, suite, row.case)])
        else:
            n = next((column.cells[position].n for column in columns if column.cells[position].n is not None), None)
            line.append(_row_header(row.label, row.record, links, n if len(samples) > 1 else None))
            line.extend(_data(column, position) for column in columns)
            position += 1
        body.append(line)
    head = element("thead", element("tr", element("th", "Case", scope="col"), *map(_header, columns)))
    table = element("table", element("caption", options.caption), head, body, class_="il-table")
    # A keyboard must be able to scroll the region, so it takes the focus and has a name.
    attributes = {"role": "region", "tabindex": "0", "aria_label": options.caption}
    region = element("div", table, class_="il-measured-table__scroll", **attributes)
    return element("div", region, _note(present, samples), class_="il-measured-table")


def _header(column: Filled) -> Element:
    """A column's header with the unit of its numbers."""
    header = element("th", column.label, scope="col", class_=_kind(column))
    if column.unit:
        header.append(element("span", f" ({column.unit})", class_="il-measured-table__unit"))
    return header


def _row_header(label: str, record: Record, links: Links, n: int | None) -> Element:
    """The case's name with a link to its raw record; `n` and how the run ended are added where they must be said."""
    href = links.to_record(record.file.as_posix())
    title = f"Measured: {record.case}, {source_line(record)}"
    link = element("a", label, href=href, title=title, aria_label=f"{label}, raw record")
    remarks = [status_text(record), f"n = {n}" if n is not None else ""]
    remark = ", ".join(filter(None, remarks))
    return element(
        "th",
        link,
        *([element("span", f" {remark}", class_="il-measured-table__remark")] if remark else []),
        scope="row",
    )


def _data(column: Filled, position: int) -> Element:
    pad = {"data_pad": column.paddings[position]} if column.paddings[position] else {}
    return element("td", column.cells[position].text, class_=_kind(column), **pad)


def _kind(column: Filled) -> str:
    return "il-measured-table__number" if column.numeric else "il-measured-table__text"


def _missing(options: TableOptions, suite: str, case: str) -> Element:
    """The cell of a row that is not measured, across all columns."""
    text = f"not measured yet{_on(options)}; measure it with "
    command = element("code", f"python -m gpu_bench run --suite {suite} --case {case}")
    return element("td", text, command, class_="il-measured-table__missing", colspan=str(len(options.columns)))


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
    sentences = [f" Measured on {sources}."]
    if samples:
        count = f", n = {min(samples)}" if len(samples) == 1 else ""
        sentences.append(f"Median ± half the interquartile range{count}.")
    sentences.append("Every case links to its raw record.")
    # The mark of measured values stands here once for all cells.
    mark = element("span", class_="il-measured", aria_hidden="true")
    return element("p", mark, " ".join(sentences), class_="il-measured-table__note")
