"""The mark behind a sentence whose number other texts state too, the card it opens, and the legend of a page's marks.

A mark is neutral: a diamond, the sign of another text's value. It shows where that text says something else. Where the
text says the same, or nobody could check it, the mark appears when the reader asks for it in the legend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from explorable.measured.claims.data import Source
from explorable.measured.claims.judged import Claims, Judged
from explorable.measured.claims.listing import said
from explorable.measured.claims.verdict import Verdict, shown
from explorable.measured.links import Links
from explorable.shared.markup import element, linked

MARK, QUIET = "il-checks", "il-checks--quiet"
"""The classes of a mark, and of one that is hidden until somebody asks for it."""
EXPLAINED = " This mark: another text gives another number. Press it to see which holds, and why. Texts here: "
"""What a legend says, before the names of the texts."""
DIFFERS: frozenset[Verdict] = frozenset({"contradicted", "refined"})
"""Verdicts of a claim whose number differs from ours."""


def marks(names: str, claims: Claims, links: Links, taken: set[str]) -> Element:
    """What `{checked} one, another` becomes: one mark, whose card begins with the claims that differ.

    `taken` are the ids that the page has used so far; ours is added.
    """
    items = sorted(
        (claims.one(name.strip()) for name in names.split(",")), key=lambda item: item.verdict not in DIFFERS
    )
    card = _free(f"check-{items[0].claim.id}", taken)
    differs = items[0].verdict in DIFFERS
    button = element("button", type="button", class_="il-check", popovertarget=card)
    button.set("aria-label", f"{'Another text differs' if differs else 'Another text'}: {items[0].claim.gist}")
    return element("span", button, _card(items, links, card), class_=MARK if differs else f"{MARK} {QUIET}")


def legend(root: Element, names: Sequence[str], claims: Claims) -> None:
    """Explain the marks of a page behind the block of its first one.

    Args:
        root: The page.
        names: What its marks name, as `marks` takes it.
        claims: All claims; a name that is none of them is passed over.
    """
    first = next((block for quiet in (False, True) for block in root if [*_marks(block, quiet=quiet)]), None)
    if first is None:
        return
    ids = [name.strip() for some in names for name in some.split(",")]
    sources = dict.fromkeys(claims.by_id[one].claim.source for one in ids if one in claims.by_id)
    made = element("p", element("span", class_="il-check__shape", aria_hidden="true"), class_="il-legend")
    made.set("data-search-exclude", "")
    made[-1].tail = EXPLAINED
    for place, source in enumerate(sources):
        text = _text(source)
        text.tail = "." if place == len(sources) - 1 else ", "
        made.append(text)
    if hidden := len(list(_marks(root, quiet=True))):
        made[-1].tail = f"{made[-1].tail} "
        box = element("input", type="checkbox", class_="il-legend__all", autocomplete="off")
        more = f" show {hidden} more, where they agree or nobody could check"
        made.append(element("label", box, more))
    root.insert(list(root).index(first) + 1, made)


def _marks(node: Element, *, quiet: bool | None = None) -> Iterator[Element]:
    """The marks in a part of a page: all, or those that are hidden, or those that are not."""
    for one in node.iter("span"):
        classes = one.get("class", "").split()
        if MARK in classes and quiet in (None, QUIET in classes):
            yield one


def _text(source: Source) -> Element:
    """The name of another text, with its address where it has one."""
    return linked(source.title, source.url, class_="il-legend__text", title=source.edition)


def _free(name: str, taken: set[str]) -> str:
    """The name, or the name with the first number that no other mark of the page has."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    taken.add(free)
    return free


def _card(items: Sequence[Judged], links: Links, name: str) -> Element:
    """The claims in short. A browser that knows no popovers does not show it; the list of checks has it all."""
    lines = [line for item in items for line in _lines(item, links)]
    attributes = {"popover": "auto", "data_search_exclude": "", "role": "group", "aria_label": "Check"}
    return element("span", *lines, id=name, class_="il-card", **attributes)


def _lines(item: Judged, links: Links) -> Iterator[Element]:
    """What both texts say, why they differ, how that was computed, and where the whole check stands."""
    both = element("span", _text(item.claim.source), f" says {said(item)}", class_="il-card__line il-card__both")
    if item.answer is None:
        both[-1].tail = f"{both[-1].tail}. Nobody could check it yet."
    else:
        ours = shown(item.answer.value, item.claim.format)
        joint = "; we get" if item.verdict in DIFFERS else ", and so do we:"
        both[-1].tail = f"{both[-1].tail}{joint} {ours}."
    yield both
    yield element("span", item.claim.gist, class_="il-card__line")
    if item.also and item.claim.also:
        label = item.claim.also.label
        qualified = f"{label[0].upper()}{label[1:]}: {shown(item.also.value, item.claim.format)}."
        yield element("span", qualified, class_="il-card__line")
    why = "".join(part if isinstance(part, str) else part.text for part in item.note) or item.reason
    if why:
        yield element("span", why, class_="il-card__line")
    if item.answer:
        yield element("code", item.answer.exact, class_="il-card__line")
    if href := links.to_claim(item.claim.id):
        link = element("a", "In the list of checks", href=href)
        yield element("span", link, class_="il-card__line")
    for link in links.report(said(item), f"Check {item.claim.id}: {item.answer.exact if item.answer else item.reason}"):
        yield element("span", link, class_="il-card__line")
