"""The block `/// reported | group`: what the engine says, beside what somebody else measured and published.

Reported numbers have a mark of their own and never share a row with a record of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element

from explorable.book import current
from explorable.measured.errors import MeasuredError
from explorable.measured.links import Links
from explorable.measured.reported.data import Reported, ReportedRows
from explorable.measured.tables.options import Captioned, read_options
from explorable.measured.values.computed import Outcomes, outcome
from explorable.measured.values.quantities import format_number, quantity, show
from explorable.shared.markup import element, linked, tabled

COMPUTED, GAP = "The engine says", "Off by"


@dataclass(frozen=True)
class Options(Captioned):
    """What an author asks for: a caption, some of the rows, and the names of the computed column and of the gap."""

    rows: tuple[str, ...] = ()
    engine: str = COMPUTED
    gap: str = GAP


def expressions(group: str, text: str, reported: ReportedRows) -> list[str]:
    """What a block asks of the engine; nothing where the block is wrong, which `build` will say."""
    try:
        return [row.engine for row in reported.select(group, read_options(Options, text).rows) if row.engine]
    except MeasuredError:
        return []


def build(group: str, text: str, reported: ReportedRows, outcomes: Outcomes, links: Links) -> Element:
    """The table. Raises `MeasuredError` for a group or a row that is not there, or an expression that has no answer."""
    options: Options = read_options(Options, text)
    rows = reported.select(group, options.rows)
    predicted = any(row.engine for row in rows)
    lines, several = [], len({row.settings for row in rows}) > 1
    for row in rows:
        try:
            computed = _predicted(row, outcomes, links) if predicted else ()
        except MeasuredError as error:
            raise MeasuredError(
                f"reported number '{row.id}' ({row.file}:{row.line}): {error.what}", error.fix
            ) from None
        lines.append(element("tr", _head(row, several=several), *computed[:1], _reported(row), *computed[1:]))
    number = "il-measured-table__number"
    asked = [element("th", options.engine, scope="col", class_=number)] if predicted else []
    gap = [element("th", options.gap, scope="col", class_=number)] if predicted else []
    table = tabled(options.caption, [element("th", "What", scope="col"), *asked, _column(), *gap], lines)
    return element("div", table, _note(rows), class_="il-measured-table il-reported-table")


def _column() -> Element:
    return element("th", "Reported", scope="col", class_="il-measured-table__number")


def _head(row: Reported, *, several: bool) -> Element:
    """What was run, and in small letters how, where not all rows were run alike."""
    if not several:
        return element("th", row.what, scope="row")
    settings = element("span", row.settings, class_="il-measured-table__remark il-reported-table__settings")
    return element("th", row.what, settings, scope="row")


def _predicted(row: Reported, outcomes: Outcomes, links: Links) -> tuple[Element, Element]:
    """What the engine says, and by which share that is off."""
    number = "il-measured-table__number"
    if not row.engine:
        nothing = element("td", "–", class_=number, title="The engine has no answer to this.")
        return nothing, element("td", "–", class_=number)
    found = outcome(row.engine, outcomes)
    shown, origin = show(found.quantity, row.format), f"Computed by the engine: {row.engine}"
    href = links.to_reference(found.origin)
    made = linked(shown.glued, href, class_="il-number il-computed", title=origin)
    times, said = shown.value / row.value, current().difference
    gap = said(found.quantity, times) if said else off(times)
    return element("td", made, class_=number), element("td", gap, class_=number)


def off(times: float) -> str:
    """By which share what the library says is more or less than what was reported, of which it is so many `times`."""
    share = percent(times)
    sign = "less" if share.startswith("−") else "more" if share.startswith("+") else ""
    return f"{share.lstrip('+−')} {sign}".rstrip()


def percent(times: float) -> str:
    """A change in percent, with its sign."""
    return f"{format_number(100 * (times - 1), '+.0f')} %"


def _reported(row: Reported) -> Element:
    text = show(quantity(row.value, row.format.unit), row.format).glued
    origin = f"Reported, not measured by us. {row.source.sentence}"
    name = f"{text}, reported by {row.source.title}"
    link = element("a", text, href=row.source.url, class_="il-number il-reported", title=origin, aria_label=name)
    return element("td", link, class_="il-measured-table__number")


def _note(rows: list[Reported]) -> Element:
    """The line under a table: who published, and how it was read."""
    note = element("p", element("span", class_="il-reported", aria_hidden="true"), class_="il-measured-table__note")
    alike = f" All: {rows[0].settings}." if len({row.settings for row in rows}) == 1 else ""
    note[-1].tail = f"{alike} Reported by others, not measured by us: "
    sources = list(dict.fromkeys(row.source for row in rows))
    for place, source in enumerate(sources):
        link = element("a", source.title, href=source.url, title=source.sentence)
        link.tail = "; " if place + 1 < len(sources) else "."
        note.append(link)
    return note
