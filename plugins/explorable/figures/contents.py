"""The pages of the chapter, numbered in the order of the navigation, with the time that reading takes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from explorable.shared.markup import element
from explorable.shared.scan import scan

WORDS_PER_MINUTE = 200
_FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
_ASIDE = re.compile(r"^(?:\[\^[\w-]+\]:|\s*\|).*$", re.MULTILINE)
"""A footnote, or a row of a table."""
_UNSEEN = re.compile(r"(?<=\])\([^)\s]*\)|\{ ?[#.:][^}\n]*\}|</?[a-z][^>\n]*>")
"""The address of a link, a list of attributes, a tag."""
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True)
class Chapter:
    """A numbered page.

    Attributes:
        number: Its place, from 1.
        page: Its file, relative to the docs folder.
        title: Its heading.
        minutes: To read it, without its acts, programs and exercises.
    """

    number: int
    page: str
    title: str
    minutes: int


def words(markdown: str) -> int:
    """How many words of prose a reader sees, without programs, formulas, inline expressions, tables and footnotes."""
    text = _FORMULA.sub(" ", _ASIDE.sub("", scan(markdown).without_code(lambda _: " ")))
    return len(_WORD.findall(_UNSEEN.sub("", text)))


def minutes(markdown: str) -> int:
    """Minutes of reading at 200 words a minute."""
    return max(1, math.ceil(words(markdown) / WORDS_PER_MINUTE))


def chapters(pages: Sequence[tuple[str, str]]) -> list[Chapter]:
    """The numbered pages.

    Args:
        pages: Name and Markdown of each page, in reading order.
    """
    found = []
    for number, (page, markdown) in enumerate(pages, 1):
        found.append(Chapter(number, page, scan(markdown).heading or page, minutes(markdown)))
    return found


def listed(parent: Element, found: Sequence[Chapter], addresses: Sequence[str]) -> Element:
    """The table of contents as an ordered list."""
    made = SubElement(parent, "ol", {"class": "il-contents"})
    for chapter, address in zip(found, addresses, strict=True):
        time = element("span", f"{chapter.minutes} min", class_="il-contents__time")
        made.append(element("li", element("a", chapter.title, href=address), " ", time))
    return made
