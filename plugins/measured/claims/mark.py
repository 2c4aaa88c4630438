"""The quiet mark of a check in the margin, and the card that it opens: the claim, its verdict, its computation."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from plugins.measured.claims.judged import Claims, Judged
from plugins.measured.claims.listing import said
from plugins.measured.claims.verdict import VERDICTS, shown
from plugins.measured.markup import Links, element


def marks(names: str, claims: Claims, links: Links, taken: set[str]) -> Element:
    """What `{checked} one, another` becomes. `taken` are the ids that the page has used so far; ours are added."""
    made = element("span", class_="il-checks")
    for name in names.split(","):
        item = claims.one(name.strip())
        made.append(_mark(item, links, _free(f"check-{item.claim.id}", taken)))
    return made


def _free(name: str, taken: set[str]) -> str:
    """The name, or the name with the first number that no other mark of the page has."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    taken.add(free)
    return free


def _mark(item: Judged, links: Links, card: str) -> Element:
    word = VERDICTS[item.verdict]
    button = element("button", type="button", class_=f"il-check il-verdict--{item.verdict}", popovertarget=card)
    button.set("aria-label", f"Check, {word}: {item.claim.gist}")
    return element("span", button, _card(item, links, card), class_="il-checks__one")


def _card(item: Judged, links: Links, name: str) -> Element:
    """The claim in short. A browser that knows no popovers does not show it; the list of checks has it all."""
    word = element("strong", VERDICTS[item.verdict], class_=f"il-verdict il-verdict--{item.verdict}")
    lines = [element("span", word, f" {item.claim.gist}", class_="il-card__line")]
    values = f"“{item.claim.source.title}” says {said(item)}."
    if item.answer:
        values += f" The check gives {shown(item.answer.value, item.claim.format)}."
    if item.also and item.claim.also:
        values += f" {item.claim.also.label[0].upper()}{item.claim.also.label[1:]}: "
        values += f"{shown(item.also.value, item.claim.format)}."
    lines.append(element("span", values, class_="il-card__line"))
    why = "".join(part if isinstance(part, str) else part.text for part in item.note) or item.reason
    if why:
        lines.append(element("span", why, class_="il-card__line"))
    if item.answer:
        lines.append(element("code", item.answer.exact, class_="il-card__line"))
    if href := links.to_claim(item.claim.id):
        lines.append(element("span", element("a", "In the list of checks", href=href), class_="il-card__line"))
    attributes = {"popover": "auto", "data_search_exclude": "", "role": "group", "aria_label": "Check"}
    return element("span", *lines, id=name, class_="il-card", **attributes)
