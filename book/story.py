"""The run that goes through the book: a strip at the end of a page that changes it, computed in one place.

    /// strip | memory
    What this page changed, in Markdown.
    ///

`story.py` of the chapter says what a page changes; its `stops()` are computed in the child process, like figures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from explorable.figures.sketch import Sketch, percent
from explorable.shared.markup import element
from explorable.shared.svg import embedded


@dataclass(frozen=True)
class Stop:
    """The run at the end of a page, as `story.py` computes it.

    `beside` is another bill, in words; `price` says what both count with.
    """

    page: str
    cards: int
    memory: float
    limit: float
    seconds: float
    mfu: float
    hours: float
    dollars: float
    fits: bool
    beside: str = ""
    price: str = ""


@dataclass(frozen=True)
class Number:
    """One number of the strip: its name, its text now and at the last stop, and remarks."""

    name: str
    text: str
    before: str
    remarks: tuple[str, ...] = ()


LEAST = 0.01
"""A smaller share of change is none: nobody reads a strip for a dollar."""


def _changed(one: float, other: float) -> bool:
    return abs(one - other) >= LEAST * abs(other)


def numbers(stops: Sequence[Stop], place: int) -> list[Number]:
    """The numbers of a stop's strip, each with its text in the strip before if it changed."""
    now, before = stops[place], stops[place - 1] if place else None
    olds = [""] * len(NAMES)
    if before:
        values = zip(_values(now), _values(before), _texts(before), strict=True)
        olds = [text if _changed(one, other) else "" for one, other, text in values]
    found = []
    for name, text, old in zip(NAMES, _texts(now), olds, strict=True):
        remarks = [] if now.fits else ["if it fit"]
        if name == MEMORY:
            remarks = [f"{'of' if now.fits else 'does not fit'} {now.limit:.1f} GB"]
        if name == BILL:
            remarks += [words for words in (now.beside, now.price) if words]
        found.append(Number(name, text, old, tuple(remarks)))
    return found


MEMORY, BILL = "memory of a card", "the bill"
NAMES = (MEMORY, "a step", "utilization", "the run", BILL)


def _values(stop: Stop) -> list[float]:
    """The numbers of a stop, in the order of `NAMES`."""
    return [stop.memory, stop.seconds, stop.mfu, stop.hours, stop.dollars]


def _texts(stop: Stop) -> list[str]:
    """The numbers of a stop as text, in the order of `NAMES`."""
    digits = 2 if stop.seconds < 10 else 0
    return [
        f"{stop.memory:.1f} GB",
        f"{stop.seconds:,.{digits}f} s",
        f"{percent(stop.mfu)} MFU",
        f"{stop.hours:,.0f} hours",
        f"${stop.dollars:,.0f}",
    ]


def strip(parent: Element) -> tuple[Element, Element]:
    """An empty strip: the element that `fill` gives its contents once the page is complete, and that of its words."""
    title = "GPT-2 XL with $700 and one weekend: the run so far, predicted"
    holder, change = (element("div", class_=f"il-strip__{part}") for part in ("shown", "change"))
    parts = element("p", title, class_="il-strip__title"), holder, change
    parent.append(element("section", *parts, class_="il-strip", aria_label="The run so far", data_search_exclude=""))
    return holder, change


def fill(holder: Element, stops: Sequence[Mapping[str, Any]], place: int) -> None:
    """Draw the story into a strip, and write its numbers."""
    draw(holder, [Stop(**stop) for stop in stops], place)


def draw(holder: Element, stops: Sequence[Stop], place: int) -> None:
    """The same, of stops."""
    sheet, words = picture(stops, place)
    holder.append(embedded(sheet.svg(), words, width="100%"))
    holder.append(element("dl", *_pairs(stops, place), class_="il-strip__numbers"))


def _pairs(stops: Sequence[Stop], place: int) -> Iterator[Element]:
    for number in numbers(stops, place):
        failed = not stops[place].fits and number.name == MEMORY
        remarks = (*number.remarks, *([f"was {number.before}"] if number.before else []))
        yield _pair(number.name, number.text, remarks, " il-strip__one--over" if failed else "")
    yield _pair("cards", f"{stops[place].cards} H100")


def _pair(name: str, text: str, remarks: Sequence[str] = (), over: str = "") -> Element:
    value = element("dd", element("strong", text), *(element("small", one) for one in remarks))
    return element("div", element("dt", name), value, class_=f"il-strip__one{over}")


LEFT, RIGHT, SIZE = 74, 432, 13
"""Where the lanes of the picture begin and end; letters that stay readable on a phone."""
BILL_LANE, MEMORY_LANE = (30.0, 84.0), (104.0, 158.0)
"""Upper and lower edge of the two lanes."""


def picture(stops: Sequence[Stop], place: int) -> tuple[Sketch, str]:
    """The bill and the memory of a card over the pages of the story, with the page marked; and the same in words."""
    sheet, now = Sketch(182), stops[place]
    bills = [math.log10(stop.dollars) for stop in stops]
    floor, most = min(bills) - 0.12, max(stop.memory for stop in stops)
    heights = [(bill - floor) / (max(bills) - floor) for bill in bills]
    _lane(sheet, "bill", [(height, "muted") for height in heights], BILL_LANE, place)
    inks = ["memory" if stop.fits else "limit" for stop in stops]
    _lane(
        sheet, "memory", [(stop.memory / most, ink) for stop, ink in zip(stops, inks, strict=True)], MEMORY_LANE, place
    )
    high, low = MEMORY_LANE
    limit = low - (low - high) * now.limit / most
    sheet.line([(LEFT, limit), (RIGHT, limit)], "limit", 1.2, dashed=True)
    sheet.text(RIGHT, limit - 10, "the card", size=SIZE, ink="limit", anchor="end")
    middle = LEFT + (RIGHT - LEFT) / len(stops) * (place + 0.5)
    anchor = "start" if place < 3 else "end" if place > len(stops) - 4 else "middle"
    at = {"start": LEFT, "end": RIGHT, "middle": middle}[anchor]
    sheet.text(at, 10, f"here: ${now.dollars:,.0f}", size=SIZE, bold=True, anchor=anchor)
    sheet.text(at, MEMORY_LANE[1] + 14, f"{now.memory:.0f} GB", size=SIZE, bold=True, anchor=anchor)
    fit = "fits" if now.fits else "does not fit"
    words = (
        f"Over the {len(stops)} stops of the story the bill falls from ${stops[0].dollars:,.0f} to "
        f"${stops[-1].dollars:,.0f}, and the memory of a card from {stops[0].memory:.0f} to {stops[-1].memory:.0f} GB. "
        f"Here, at stop {place + 1}, it is ${now.dollars:,.0f}, and {now.memory:.0f} GB, which {fit}."
    )
    return sheet, words


def _lane(sheet: Sketch, name: str, bars: Sequence[tuple[float, str]], edges: tuple[float, float], place: int) -> None:
    """One lane: a bar for each page, its height a share of the lane; those to come faint, the page itself strong."""
    top, bottom = edges
    width = (RIGHT - LEFT) / len(bars)
    sheet.text(LEFT - 8, (top + bottom) / 2, name, size=SIZE, ink="muted", anchor="end")
    for number, (height, ink) in enumerate(bars):
        faint = 1 if number == place else 0.45 if number < place else 0.18
        tall = (bottom - top) * height
        sheet.rect(LEFT + width * number + 1, bottom - tall, width - 2, tall, fill=ink, faint=faint)
    sheet.line([(LEFT, bottom), (RIGHT, bottom)], "control", 1.2)
