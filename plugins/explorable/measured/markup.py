"""Small helpers to build HTML as elements, so that every text is escaped where it is written out."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from markdown.util import AtomicString

from explorable.measured import wrong
from explorable.measured.errors import MeasuredError

SENTENCE = 24
"""Letters in a cell from which on it is read as a sentence, or a name of several words."""


def element(tag: str, *children: Element | str, **attributes: str) -> Element:
    """An element with text and elements as children. `class_` and `aria_label` stand for `class` and `aria-label`."""
    made = Element(tag, {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()})
    last: Element | None = None
    for child in children:
        if isinstance(child, Element):
            made.append(child)
            last = child
        elif last is None:
            made.text = AtomicString((made.text or "") + child)
        else:
            last.tail = AtomicString((last.tail or "") + child)
    return made


def linked(text: str, href: str, **attributes: str) -> Element:
    """A text that leads somewhere; a plain one where there is no address."""
    return element("a", text, href=href, **attributes) if href else element("span", text, **attributes)


def scrolled(table: Element, name: str) -> Element:
    """A table that a narrow screen scrolls sideways, also by keyboard: so it takes the focus and has a name.

    The heads of columns that hold sentences say so, for a style that keeps those from becoming too narrow.
    """
    rows = [row for row in table.iter("tr") if not any("colspan" in cell.attrib for cell in row)]
    for head, *cells in zip(*rows, strict=False):
        if max((len("".join(cell.itertext())) for cell in cells), default=0) > SENTENCE:
            head.set("class", f"{head.get('class', '')} il-measured-table__prose".strip())
    return element("div", table, class_="il-measured-table__scroll", role="region", tabindex="0", aria_label=name)


def replace_content(target: Element, source: Element) -> None:
    """Turn `target` into `source` in place; the text behind it stays."""
    tail = target.tail
    target.clear()
    target.tag, target.text, target.tail = source.tag, source.text, tail
    target.attrib.update(source.attrib)
    target.extend(source)


def defect_box(error: MeasuredError, tag: str = "span") -> Element:
    """What stands in the page where a number or table should be; the strict build fails, `mkdocs serve` shows it."""
    return element(tag, f"⚠ {error}", class_="il-defect")


@dataclass(frozen=True)
class Links:
    """Where numbers link to, as source paths in the docs folder; MkDocs turns them into URLs and checks them.

    page: the page that the links stand on.
    reference: module of the engine -> the page that documents it; empty for no links.
    records: the folder under which the raw records are published.
    claims: the claims page, or empty when there is none.
    checks: the page that says how each claim is checked; empty where the claims page says it.
    form: the form for a wrong number on this page, by `wrong.form`; empty when there is none.
    """

    page: str
    reference: Mapping[str, str]
    records: str
    claims: str = ""
    form: str = ""
    checks: str = ""

    def to_reference(self, origin: str) -> str:
        """The link to a public name of the engine; empty when no page documents its module."""
        module = origin
        while module and module not in self.reference:
            module = module.rpartition(".")[0]
        return f"{self._relative(self.reference[module])}#{origin}" if module else ""

    def to_record(self, file: str) -> str:
        """The link to the published copy of a record."""
        return self._relative(posixpath.join(self.records, file))

    def to_claim(self, name: str) -> str:
        """The link to a claim; empty when the site has no claims page."""
        return f"{self._relative(self.claims)}#{name}" if self.claims else ""

    def to_check(self, name: str) -> str:
        """The link to how a claim is checked; empty where the claims page says it."""
        return f"{self._relative(self.checks)}#{name}" if self.checks else ""

    def to_claims(self, verdict: str = "") -> str:
        """The link to the list of claims, to those with a verdict if one is named; empty without a claims page."""
        query = f"?verdict={verdict}" if verdict else ""
        return f"{self._relative(self.claims)}{query}#claims-list" if self.claims else ""

    def report(self, number: str, origin: str) -> list[Element]:
        """The link to the form, filled with a number and where it comes from; nothing when there is no form."""
        address = wrong.filled(self.form, number, origin)
        return [element("a", "Number wrong? Tell us", href=address)] if address else []

    def to_page(self, page: str) -> str:
        """The link to another page."""
        return self._relative(page)

    def _relative(self, target: str) -> str:
        return posixpath.relpath(target, posixpath.dirname(self.page) or ".")
