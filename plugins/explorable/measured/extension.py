"""The Markdown extension: finds inline numbers, measured tables and claims in a page and writes their values into it.

While a page is parsed only placeholders are made. When the whole page is there, one step fills them all, so that all
expressions of a page are evaluated together, and so that headings have their numbers before the table of contents is
made. Being elements of the parsed page, placeholders never appear inside code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor
from pymdownx.blocks import BlocksExtension, BlocksProcessor  # type: ignore[import-untyped]
from pymdownx.blocks.block import Block  # type: ignore[import-untyped]

from explorable.book import Apart, current
from explorable.book import Block as OwnBlock
from explorable.measured.ceilings import block as ceilings
from explorable.measured.ceilings import table as contributed
from explorable.measured.ceilings.contributed import Contributions
from explorable.measured.claims import page as claims_page
from explorable.measured.claims.judged import Claims
from explorable.measured.claims.listing import Mentions
from explorable.measured.claims.mark import legend, marks
from explorable.measured.errors import HeldBackError
from explorable.measured.links import Links, defect_box
from explorable.measured.reported import table as reported
from explorable.measured.reported.data import ReportedRows
from explorable.measured.tables.options import OptionError, parse_options
from explorable.measured.tables.table import build
from explorable.measured.tables.waiting import Waiting, gather, listed
from explorable.measured.values.computed import Computed, Outcomes
from explorable.measured.values.inline import computed_number, measured_number
from explorable.measured.values.recorded import Records
from explorable.shared.apart import Elements
from explorable.shared.errors import AuthorError
from explorable.shared.locate import Constructs, RoleProcessor, unstamp
from explorable.shared.markup import element, replace_content

ROLES = ("engine", "record", "claim", "claims", "checked")
BLOCKS = ("measured", "reported", "claims", "waiting", "ceilings", "contributed")


def constructs() -> Constructs:
    """What this part knows, with the book's own blocks."""
    return Constructs(blocks=(*BLOCKS, *current().blocks), roles=ROLES)


_KIND, _LINE, _TEXT = "data-il-kind", "data-il-line", "data-il-text"


@dataclass(frozen=True)
class Sources:
    """What numbers come from, the same for all pages of a build.

    claims: what the source documents say.
    reported: what others measured and published.
    contributed: what readers measured on their cards.
    elements: makes blocks of the book's own that take long.
    """

    computed: Computed
    records: Records
    claims: Claims
    reported: ReportedRows
    contributed: Contributions = field(default_factory=Contributions)
    elements: Elements = field(default_factory=Elements)


@dataclass(frozen=True)
class PageContext:
    """Where the page stands: how its numbers link to their origin, and who is told about a mistake in which line.

    mentions: which pages speak of which claim.
    waiting: which pages have tables without any record.
    """

    links: Links
    report: Callable[[int | None, AuthorError], None]
    mentions: Mentions = field(default_factory=dict)
    waiting: Sequence[Waiting] = ()


class MeasuredExtension(BlocksExtension):  # type: ignore[misc]
    """Inline numbers, measured tables and claims. Set `page` before each page is converted."""

    def __init__(self, sources: Sources, page: PageContext, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sources = sources
        self.page = page

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name is Python-Markdown's
        """Register the inline syntax before code spans (190), and the filling between inline (20) and contents (5)."""
        super().extendMarkdown(md)
        md.inlinePatterns.register(RoleProcessor(md, ROLES, _placeholder), "measured_number", 195)
        md.treeprocessors.register(_Filler(md, self), "measured", 15)

    def extendMarkdownBlocks(self, md: Markdown, block_mgr: BlocksProcessor) -> None:  # noqa: N802
        """Register the block."""
        block_mgr.register(_MeasuredBlock, {})
        block_mgr.register(_ReportedBlock, {})
        block_mgr.register(_ClaimsBlock, {})
        for name in ("ceilings", "contributed", *current().blocks):
            # The last are the book's own, which their names find again.
            block_mgr.register(type(f"_{name}", (_MeasuredBlock,), {"NAME": name, "KIND": name}), {})
        block_mgr.register(_WaitingBlock, {})


class _MeasuredBlock(Block):  # type: ignore[misc]
    """`/// measured | suite`, whose content is YAML."""

    NAME = "measured"
    ARGUMENT = None
    KIND = "table"

    def on_markdown(self) -> str:
        return "raw"

    def on_create(self, parent: Element) -> Element:
        name, line = unstamp(self.argument or "")
        made = SubElement(parent, "div")
        made.attrib.update(_placeholder(self.KIND, name.strip(), line).attrib)
        return made


class _ReportedBlock(_MeasuredBlock):
    """`/// reported | group`, whose content is YAML: what others published, beside what the engine says."""

    NAME = "reported"
    KIND = "reported"


class _ClaimsBlock(_MeasuredBlock):
    """`/// claims | list`, without content."""

    NAME = "claims"
    KIND = "claims list"


class _WaitingBlock(_MeasuredBlock):
    """`/// waiting`, without content: the tables of all pages that no record fills yet."""

    NAME = "waiting"
    KIND = "waiting"


class _Filler(Treeprocessor):
    """Replaces the placeholders of a page by what they stand for."""

    def __init__(self, md: Markdown, extension: MeasuredExtension) -> None:
        super().__init__(md)
        self._extension = extension

    def run(self, root: Element) -> None:
        sources, page = self._extension.sources, self._extension.page
        found = list(_placeholders(root))
        checked = [place.attrib[_TEXT] for place, _ in found if place.attrib[_KIND] == "checked"]
        cards: set[str] = set()
        outcomes = sources.computed.values(_expressions((place for place, _ in found), sources.reported))
        for place, inside_link in found:
            line = int(place.attrib[_LINE]) if place.attrib[_LINE] else None
            try:
                made = _made(place, sources, outcomes, page, inside_link, cards)
            except AuthorError as error:
                if not isinstance(error, HeldBackError):
                    page.report(None if line is None else line + error.offset, error)
                made = defect_box(error, "div" if place.tag == "div" else "span")
            replace_content(place, made)
        legend(root, checked, sources.claims)
        gather(root)


def _placeholder(kind: str, text: str, line: int | None) -> Element:
    made = element("span")
    made.attrib.update({_KIND: kind, _TEXT: text, _LINE: "" if line is None else str(line)})
    return made


def _placeholders(node: Element, inside_link: bool = False) -> Iterator[tuple[Element, bool]]:
    """All placeholders in the order of the page, and whether they stand inside a link, where no other link may be."""
    if _KIND in node.attrib:
        yield node, inside_link
        return
    for child in node:
        yield from _placeholders(child, inside_link or node.tag == "a")


def _expressions(places: Iterator[Element], published: ReportedRows) -> Iterator[str]:
    """The engine expressions of a page; one without a format is reported when its own turn comes."""
    for place in places:
        if place.attrib[_KIND] == "reported":
            yield from reported.expressions(place.attrib[_TEXT], place.text or "", published)
        if place.attrib[_KIND] == "engine":
            expression, bar, _ = place.attrib[_TEXT].rpartition("|")
            if bar:
                yield expression.strip()


def _made(
    place: Element, sources: Sources, outcomes: Outcomes, page: PageContext, bare: bool, cards: set[str]
) -> Element:
    """What a placeholder stands for. `bare` ones stand in a link; `cards` are the ids of the checks shown so far."""
    kind, text, content, links = place.attrib[_KIND], place.attrib[_TEXT], place.text or "", page.links
    if kind == "engine":
        return computed_number(text, outcomes, links, bare=bare)
    if kind == "record":
        return measured_number(text, sources.records, links, bare=bare)
    if kind == "table":
        if not text:
            raise OptionError("the block names no suite", "write '/// measured | smoke'")
        return build(parse_options(content), text, sources.records, links)
    if kind == "reported":
        return reported.build(text, content, sources.reported, outcomes, links)
    if kind == "contributed":
        return contributed.build(content, sources.contributed, links)
    if own := {"ceilings": ceilings.block, **current().blocks}.get(kind):
        return _own(own, text, content, sources)
    if kind == "claims list":
        return claims_page.block(text, sources.claims, page.mentions, links)
    if kind == "waiting":
        return listed(page.waiting, links)
    if kind == "claim":
        return claims_page.badge(text, sources.claims, links, bare=bare)
    if kind == "checked":
        return marks(text, sources.claims, links, cards)
    return claims_page.count(text, sources.claims, links, bare=bare)


def _own(block: OwnBlock | Apart, argument: str, content: str, sources: Sources) -> Element:
    """The element of a block of the book's own."""
    if not isinstance(block, Apart):
        return block(argument, content, [record.document for record in sources.records.records])
    return sources.elements.element(block, argument, content)
