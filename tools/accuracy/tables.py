"""Tables of the report's page, as elements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from explorable.shared.markup import element, tabled

_MINUS = re.compile(r"^-(?=\d)")
_PERCENT = re.compile(r"(?<=\d)%")
_BREAKS = re.compile(r"(?<=[a-z]\.)(?=[A-Z])|(?=_)")

Cell = str | tuple[str, str]
"""Text, or text and the address it links to."""


def table(caption: str, header: Sequence[str], body: Sequence[Sequence[Cell]], numbers: Sequence[int]) -> Element:
    """A table with a caption that scrolls where it is too wide; the columns in `numbers` align right."""
    heads = [element("th", text, scope="col", **_align(index, numbers)) for index, text in enumerate(header)]
    lines = (_line(values, numbers) for values in body)
    return element("div", tabled(caption, heads, lines), class_="il-measured-table")


def _line(values: Sequence[Cell], numbers: Sequence[int]) -> Element:
    line = element("tr")
    for index, value in enumerate(values):
        text = [element("a", *_broken(value[0]), href=value[1])] if isinstance(value, tuple) else _broken(value)
        line.append(element("td", *text, **_align(index, numbers)) if index else element("th", *text, scope="row"))
    return line


def _broken(text: str) -> list[Element | str]:
    """A minus is no hyphen. Long names may break before an underscore and after the point that follows a module."""
    first, *rest = _BREAKS.split(spaced(_MINUS.sub("−", text)))
    return [first, *(child for part in rest for child in (element("wbr"), part))]


def spaced(text: str) -> str:
    """A percent sign stands apart from its number, in the same line."""
    return _PERCENT.sub("\u00a0%", text)


def _align(index: int, numbers: Sequence[int]) -> dict[str, str]:
    return {"style": "text-align:right"} if index in numbers else {}
