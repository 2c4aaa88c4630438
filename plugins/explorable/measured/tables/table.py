"""Measured tables: rows from committed records, or the command that measures what is not there yet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from explorable.book import current
from explorable.measured.links import Links
from explorable.measured.tables.cells import Filled, Line, fill, position
from explorable.measured.tables.options import MOST_COLUMNS, Column, OptionError, TableOptions
from explorable.measured.tables.plot import Series, binary, draw
from explorable.measured.tables.waiting import EMPTY
from explorable.measured.values.recorded import Record, Records, command, ended, plan
from explorable.shared.errors import nearest
from explorable.shared.markup import element, tabled

_DEVICE = Column("Device", "/device.name", spread=False)
_PARTS = {"points": ("points", "label"), "policies": ("fit.policies", "policy"), "runs": ("arms.runs", "")}
"""Kind of rows -> where the parts stand in a record, and which of their values names them, if they have no names."""


@dataclass(frozen=True)
class Row:
    """One row of a table: a case, or a part of one; `line` is None until the case is measured."""

    case: str
    label: str
    line: Line | None


def rows(options: TableOptions, suite: str, records: Records) -> list[Row]:
    """The rows of a table: the cases asked for, or all of the suite, each with every record that fits.

    Args:
        options: What the author wrote.
        suite: The suite's name.
        records: What is measured.

    Raises:
        OptionError: When the suite or a case does not exist.
    """
    if suite not in {*plan(), *records.suites}:
        raise OptionError(f"there is no suite '{suite}'", nearest(suite, {*plan(), *records.suites}))
    measured = [record.case for record in records.select(suite)]
    known = list(dict.fromkeys([*plan().get(suite, ()), *measured]))
    found: list[Row] = []
    asked = _expanded(options.labels or {name: name for name in known}, known)
    for case, label in asked.items():
        if case not in known:
            raise OptionError(f"suite '{suite}' has no case '{case}'", nearest(case, known))
        matches = records.select(suite, case=case, device=options.device)
        made = [row for record in matches for row in _of(record, label, options)] or [Row(case, label, None)]
        if options.rows != "cases" and len(asked) > 1:
            # Parts of several cases have the same names.
            made = [row if row.label == label else replace(row, label=f"{label}, {row.label}") for row in made]
        found += made
    return found


def _expanded(cases: Mapping[str, str], known: Sequence[str]) -> Mapping[str, str]:
    """The cases asked for; a name with `*` stands for all that it fits, called by what the `*` stands for."""
    found: dict[str, str] = {}
    for case, label in cases.items():
        before, star, after = case.partition("*")
        matches = [name for name in known if name.startswith(before) and name.endswith(after)] if star else []
        found |= {name: name[len(before) : len(name) - len(after)] for name in matches} or {case: label}
    return found


def _of(record: Record, label: str, options: TableOptions) -> list[Row]:
    """The rows of a record: one, or one for each of its parts. A run that failed has no parts."""
    if options.rows == "cases":
        return [Row(record.case, label, Line(record))]
    place, name = _PARTS[options.rows]
    top = record.document[place.partition(".")[0]]
    if top is None:
        if record.status in current().records.measured:
            raise OptionError(f"case '{record.case}' has no {options.rows}", "leave out 'rows'")
        return [Row(record.case, label, Line(record, f"{place}.0."))]
    parts = record.at(place)
    if isinstance(parts, Mapping):
        return [Row(record.case, key, Line(record, f"{place}.{key}.")) for key in parts]
    return [Row(record.case, readable(str(part[name])), Line(record, f"{place}.{i}.")) for i, part in enumerate(parts)]


def readable(label: str) -> str:
    """The name of a part with its bytes as the axis of a plot has them: `copy 4 GiB`."""
    return re.sub(r"\b(\d{4,}) B\b", lambda found: f"{binary(int(found[1]))}B".replace(" ", "\u00a0"), label)


def build(options: TableOptions, suite: str, records: Records, links: Links) -> Element:
    """The HTML of a measured table. Raises `MeasuredError` for anything that a record cannot answer."""
    lines = rows(options, suite, records)
    shown = [row.line for row in lines if row.line is not None]
    present = [line.record for line in shown]
    if not present:
        return _not_measured(options, suite)
    several = len({record.device for record in present}) > 1
    # Where a column more does not fit on a phone, the device stands beside the row's name.
    beside = several and len(options.columns) + 2 > MOST_COLUMNS
    if several and not beside:
        options = replace(options, columns=(_DEVICE, *options.columns))
    columns = [fill(column, shown) for column in options.columns]
    samples = {item.n for column in columns for item in column.cells if item.n is not None}
    body, at = [], 0
    for row in lines:
        made = element("tr")
        if row.line is None:
            made.extend([element("th", row.label, scope="row"), _missing(options, suite, row.case)])
        else:
            n = next((column.cells[at].n for column in columns if column.cells[at].n is not None), None)
            record = row.line.record
            device = record.device_name if beside else ""
            made.append(_row_header(row.label, row.line, links, n if len(samples) > 1 else None, device))
            made.extend(_data(column, at) for column in columns)
            made.attrib |= {"data-device": record.device, "data-device-name": record.device_name}
            at += 1
        body.append(made)
    first = {"cases": "Case", "points": "Point", "policies": "Policy", "runs": "Run"}[options.rows]
    table = tabled(options.caption, [element("th", first, scope="col"), *map(_header, columns)], body)
    plot = [_figure(options, lines, columns)] if options.plot else []
    files = ", ".join(dict.fromkeys(record.file.as_posix() for record in present))
    wrong = links.report(options.caption, f"Measured: {files}")
    again, note = _repeat(lines, suite), _note(present, samples, _downloads(suite, links), wrong)
    # The script fills this element. Without the script it stays empty and every row is shown.
    choice = [element("il-devices", class_="il-measured-table__devices")] if several else []
    return element("div", *choice, table, *plot, note, again, class_="il-measured-table")


def _figure(options: TableOptions, lines: Sequence[Row], columns: Sequence[Filled]) -> Element:
    """The plot of a column, a series for each device."""
    assert options.plot is not None
    wanted = options.plot
    drawn = next(column for column in columns if column.label == wanted.y)
    named = [(row.label, row.line) for row in lines if row.line is not None]
    found: dict[str, list[tuple[str, float | None, float | None]]] = {}
    for (label, line), value in zip(named, drawn.cells, strict=True):
        x = position(line, wanted.x) if wanted.x else None
        found.setdefault(line.record.device_name, []).append((label, x, value.value))
    series = [
        Series(name, [label for label, _, _ in row], [x for _, x, _ in row] if wanted.x else [], [y for _, _, y in row])
        for name, row in found.items()
    ]
    title = f"{drawn.label} ({drawn.unit})" if drawn.unit else drawn.label
    svg = draw(f"{options.caption}: {title}", wanted.x_label, title, series, logarithmic=wanted.log)
    devices = " and ".join(found)
    caption = element(
        "figcaption", element("p", f"{options.caption}, measured on {devices}: {title} of the table above.")
    )
    return element("figure", svg, caption, class_="il-measured-plot")


def _header(column: Filled) -> Element:
    """A column's header with the unit of its numbers."""
    # The space is outside the unit, which is never broken, so that a narrow column has it on a line of its own.
    unit: list[Element | str] = (
        [" ", element("span", f"({column.unit})", class_="il-measured-table__unit")] if column.unit else []
    )
    return element("th", column.label, *unit, scope="col", class_=_kind(column))


def _row_header(label: str, line: Line, links: Links, n: int | None, device: str) -> Element:
    """The row's name with a link to its raw record; device, how it ended and `n` are added where they must be said."""
    record = line.record
    href = links.to_record(record.file.as_posix())
    title = f"Measured: {record.case}, {record.source}"
    link = element("a", label, href=href, title=title, aria_label=f"{label}, raw record")
    remarks = [device, ended(line.status), f"n = {n}" if n is not None else ""]
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
    text, told = f"not measured yet{_on(options)}", command(suite, case)
    how = [f"{text}; measure it with ", element("code", told)] if told else [text]
    return element("td", *how, class_="il-measured-table__missing", colspan=str(len(options.columns)))


def _not_measured(options: TableOptions, suite: str) -> Element:
    """One quiet line in place of a table without any record: its caption; what measures it is folded away."""
    one = next(iter(options.cases)) if len(options.cases) == 1 else ""
    # The shell has no use for a name that stands for several.
    only = "" if "*" in one else one
    told = command(suite, only)
    how = [element("details", element("summary", "how"), element("code", told))] if told else []
    return element("div", element("p", f"{options.caption}{_on(options)}."), *how, class_=EMPTY)


def _repeat(lines: Sequence[Row], suite: str) -> Element | str:
    """How to measure every row of a table again; "" in a book that does not say what measures."""
    told = (command(suite, row.case) for row in lines if row.line is not None)
    commands = dict.fromkeys(f"{one} --again" for one in told if one)
    if not commands:
        return ""
    return element(
        "details",
        element("summary", "Measure it again"),
        element("pre", element("code", "\n".join(commands))),
        class_="il-measured-table__again",
    )


def _downloads(suite: str, links: Links) -> list[Element]:
    """Links to all numbers of the suite as flat rows."""
    names = {form: links.to_record(f"{suite}.{form}") for form in ("csv", "json")}
    return [element("a", form.upper(), href=href, download="") for form, href in names.items()]


def _on(options: TableOptions) -> str:
    return f" on {options.device}" if options.device else ""


def _note(
    records: Sequence[Record], samples: set[int], downloads: Sequence[Element], wrong: Sequence[Element]
) -> Element:
    """The line under a table: where and when it was measured, what the spread means, raw data, a form for mistakes."""
    sources = "; ".join(dict.fromkeys(record.source for record in records))
    sentences = [f" Measured on {sources}."]
    if samples:
        count = f", n = {min(samples)}" if len(samples) == 1 else ""
        sentences.append(f"Median ± half the interquartile range{count}.")
    sentences.append("Every row links to its raw record. All numbers of the suite: ")
    # The mark of measured values stands here once for all cells.
    mark = element("span", class_="il-measured", aria_hidden="true")
    csv, json = downloads
    ways = [part for link in wrong for part in (" ", link, ".")]
    return element("p", mark, " ".join(sentences), csv, ", ", json, ".", *ways, class_="il-measured-table__note")
