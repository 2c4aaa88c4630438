"""What waits to be measured: sections whose tables have no record, folded at their page's end, and one list of all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from xml.etree.ElementTree import Element

from explorable.book import current
from explorable.measured.errors import MeasuredError
from explorable.measured.links import Links
from explorable.measured.tables.options import TableOptions, parse_options
from explorable.measured.values.recorded import Records, command, plan
from explorable.shared.markup import element
from explorable.shared.scan import scan

EMPTY = "il-not-measured"
"""The class of what stands for a table without any record."""
_SHOWN = ("table", "figure", "svg")


@dataclass(frozen=True)
class Waiting:
    """A page with tables that no record fills: their captions, and the suites that would fill them."""

    page: str
    title: str
    captions: tuple[str, ...]
    suites: tuple[str, ...]


def gather(root: Element) -> None:
    """Fold a page's sections that show only empty tables away at its end, one level lower, under a heading."""
    moved = [section for section in _sections(root) if _waits(section)]
    if not moved:
        return
    root.append(element("h2", current().waiting))
    root.append(folded := element("details", element("summary", "What these sections will show")))
    for section in moved:
        section[0].tag = "h3"
        for one in section:
            root.remove(one)
            folded.append(one)


def waiting(pages: Iterable[tuple[str, str]], records: Records) -> list[Waiting]:
    """The pages with empty tables, in their order.

    Args:
        pages: Source path and Markdown of every page.
        records: What is measured.
    """
    found = []
    for page, text in pages:
        empty = {}
        read = scan(text)
        for block in read.blocks:
            suite = block.argument
            if block.name != "measured" or suite not in plan():
                continue
            try:
                options = parse_options(block.content)
            except MeasuredError:
                continue  # the page itself reports it
            if not _measured(options, suite, records):
                empty[options.caption] = suite
        if empty:
            suites = tuple(dict.fromkeys(empty.values()))
            found.append(Waiting(page, read.heading or page, tuple(empty), suites))
    return found


def _measured(options: TableOptions, suite: str, records: Records) -> bool:
    """Whether a record fills a row of a table. Other tables of the suite may have records of their own."""
    cases = {record.case for record in records.select(suite, device=options.device)}
    asked = options.cases or {"*": ""}
    return any(fnmatchcase(case, name) for case in cases for name in asked)


def listed(found: Sequence[Waiting], links: Links) -> Element:
    """The one list: each page with the tables that wait on it, and the commands that would fill them."""
    items = []
    for one in found:
        link = element("a", one.title, href=links.to_page(one.page))
        items.append(element("li", link, f": {'; '.join(_lowered(caption).rstrip('.') for caption in one.captions)}."))
    suites = dict.fromkeys(suite for one in found for suite in one.suites)
    commands = element("pre", element("code", "\n".join(filter(None, map(command, suites)))))
    how = element("details", element("summary", "The commands that measure them"), commands)
    return element("div", element("ul", *items), how, class_="il-waiting")


def _lowered(caption: str) -> str:
    """A caption within a sentence: its first word without a capital, unless it is a name."""
    first = caption.split(" ", 1)[0]
    return caption[0].lower() + caption[1:] if first[1:].islower() or len(first) == 1 else caption


def _sections(root: Element) -> list[list[Element]]:
    """The sections of a page, each with its heading of the second level."""
    found: list[list[Element]] = []
    for one in root:
        if one.tag == "h2":
            found.append([])
        if found:
            found[-1].append(one)
    return found


def _waits(section: Sequence[Element]) -> bool:
    """Whether a section has an empty table and shows nothing."""
    parts = [part for one in section for part in one.iter()]
    empty = any(EMPTY in part.get("class", "").split() for part in parts)
    title = "".join(section[0].itertext()).strip()
    return empty and title != current().waiting and not any(part.tag in _SHOWN for part in parts)
