"""Tables of the report's page, as elements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from markdown.util import AtomicString

from explorable.measured.markup import scrolled

_MINUS = re.compile(r"^-(?=\d)")
_PERCENT = re.compile(r"(?<=\d)%")
_BREAKS = re.compile(r"(?<=[a-z]\.)(?=[A-Z])|(?=_)")

Cell = str | tuple[str, str]
"""Text, or text and the address it links to."""


def table(caption: str, header: Sequence[str], body: Sequence[Sequence[Cell]], numbers: Sequence[int]) -> Element:
    """A table with a caption that scrolls where it is too wide; the columns in `numbers` align right."""
    box = Element("div", {"class": "il-measured-table"})
    element = Element("table", {"class": "il-table"})
    SubElement(element, "caption").text = AtomicString(caption)
    head = SubElement(SubElement(element, "thead"), "tr")
    for index, text in enumerate(header):
        cell = SubElement(head, "th", {"scope": "col", **_align(index, numbers)})
        cell.text = AtomicString(text)
    lines = SubElement(element, "tbody")
    for values in body:
        line = SubElement(lines, "tr")
        for index, value in enumerate(values):
            cell = SubElement(line, "td", _align(index, numbers)) if index else SubElement(line, "th", {"scope": "row"})
            if isinstance(value, tuple):
                cell = SubElement(cell, "a", {"href": value[1]})
                value = value[0]
            _fill(cell, value)
    box.append(scrolled(element, caption))
    return box


def _fill(cell: Element, text: str) -> None:
    """A minus is no hyphen. Long names may break before an underscore and after the point that follows a module."""
    first, *rest = _BREAKS.split(spaced(_MINUS.sub("−", text)))
    cell.text = AtomicString(first)
    for part in rest:
        SubElement(cell, "wbr").tail = AtomicString(part)


def spaced(text: str) -> str:
    """A percent sign stands apart from its number, in the same line."""
    return _PERCENT.sub("\u00a0%", text)


def _align(index: int, numbers: Sequence[int]) -> dict[str, str]:
    return {"style": "text-align:right"} if index in numbers else {}
