"""Small helpers to build HTML as elements, so that every text is escaped where it is written out."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element

from markdown.util import AtomicString

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


def tabled(caption: str, heads: Iterable[Element], rows: Iterable[Element]) -> Element:
    """Rows below heads, with a caption, as a table that a narrow screen scrolls."""
    head, body = element("thead", element("tr", *heads)), element("tbody", *rows)
    return scrolled(element("table", element("caption", caption), head, body, class_="il-table"), caption)


def replace_content(target: Element, source: Element) -> None:
    """Turn `target` into `source` in place; the text behind it stays."""
    tail = target.tail
    target.clear()
    target.tag, target.text, target.tail = source.tag, source.text, tail
    target.attrib.update(source.attrib)
    target.extend(source)
