"""The run that goes through the book: a strip at the end of each page says where it stands, computed in one place.

    /// strip | memory
    What this page changed, in Markdown.
    ///

`story.py` of the chapter says what each page changes; its `stops()` are computed in the child process, like figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from markdown.util import AtomicString


@dataclass(frozen=True)
class Stop:
    """The run at the end of a page, as `story.py` computes it."""

    page: str
    cards: int
    memory: float
    limit: float
    seconds: float
    mfu: float
    hours: float
    dollars: float
    fits: bool


@dataclass(frozen=True)
class Number:
    """One number of the strip: its name, its text now and at the last stop, and a remark."""

    name: str
    text: str
    before: str
    remark: str = ""


def numbers(stops: Sequence[Stop], place: int) -> list[Number]:
    """The numbers of a stop's strip, each with its text in the strip before."""
    now, before = stops[place], stops[place - 1] if place else None
    found = []
    for name, text, old in zip(NAMES, _texts(now), _texts(before) if before else [""] * len(NAMES), strict=True):
        remark = "" if now.fits else "if it fit"
        if name == MEMORY:
            remark = f"{'of' if now.fits else 'does not fit'} {now.limit:.1f} GB"
        found.append(Number(name, text, old if old != text else "", remark))
    return found


MEMORY = "memory of a card"
NAMES = (MEMORY, "a step", "utilization", "the run", "the bill")


def _texts(stop: Stop) -> list[str]:
    """The numbers of a stop as text, in the order of `NAMES`."""
    digits = 2 if stop.seconds < 10 else 0
    return [
        f"{stop.memory:.1f} GB",
        f"{stop.seconds:,.{digits}f} s",
        f"{stop.mfu:.0%} MFU",
        f"{stop.hours:,.0f} hours",
        f"${stop.dollars:,.0f}",
    ]


def strip(parent: Element) -> tuple[Element, Element]:
    """An empty strip: the element that `fill` gives its numbers once the page is complete, and that of its words."""
    box = SubElement(
        parent, "section", {"class": "il-strip", "aria-label": "The run so far", "data-search-exclude": ""}
    )
    title = SubElement(box, "p", {"class": "il-strip__title"})
    title.text = AtomicString("GPT-2 XL with $700 and one weekend: the run so far")
    holder = SubElement(box, "dl", {"class": "il-strip__numbers"})
    return holder, SubElement(box, "div", {"class": "il-strip__change"})


def fill(holder: Element, stops: Sequence[Stop], place: int) -> None:
    """Write the numbers of a stop into its strip."""
    now = stops[place]
    for number in numbers(stops, place):
        failed = not now.fits and number.name == MEMORY
        pair = SubElement(holder, "div", {"class": "il-strip__one" + (" il-strip__one--over" if failed else "")})
        SubElement(pair, "dt").text = AtomicString(number.name)
        value = SubElement(pair, "dd")
        SubElement(value, "strong").text = AtomicString(number.text)
        for small in (number.remark, f"was {number.before}" if number.before else ""):
            if small:
                SubElement(value, "small").text = AtomicString(small)
    pair = SubElement(holder, "div", {"class": "il-strip__one"})
    SubElement(pair, "dt").text = AtomicString("cards")
    value = SubElement(pair, "dd")
    SubElement(value, "strong").text = AtomicString(f"{now.cards} H100")
