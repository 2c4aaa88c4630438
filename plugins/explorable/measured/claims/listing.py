"""The list of claims: the filter, and each section of each document as a table that can be folded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from explorable.measured.claims.data import EVIDENCE, Claim, Evidence, Source, sections
from explorable.measured.claims.judged import Claims, Judged
from explorable.measured.claims.notes import NoteNumber
from explorable.measured.claims.verdict import VERDICTS, Tolerance, shown
from explorable.measured.links import Links
from explorable.measured.values.quantities import glue, unit_text
from explorable.shared.markup import element, linked

HOW = "How it is checked"
COLUMNS = ("Claim", "Source says", "Check gives", "Verdict")
"""What stands above the columns. On a phone `claims.css` writes the last three before their cells."""


@dataclass(frozen=True)
class Mention:
    """A page that speaks of a claim."""

    page: str
    title: str


Mentions = Mapping[str, Sequence[Mention]]


def listed(claims: Claims, mentions: Mentions, links: Links) -> Element:
    """Every claim, by document and section. Without the script nothing is folded or filtered."""
    order = {source: position for position, source in enumerate(claims.files.sources)}
    ordered = sorted(claims.judged, key=lambda item: order[item.claim.source])
    groups = list(sections([item.claim for item in ordered]))
    root = element("il-claims", _form(claims, groups), class_="il-claims", id="claims-list")
    previous = None
    for source, section, found in groups:
        if source != previous:
            heading = element("h2", source.title, id=f"claims-{source.id}")
            edition = element("p", f"{source.edition} Lines are those of the copy that was read.")
            edition.set("class", "il-claims__edition")
            root.append(element("div", heading, edition, class_="il-claims__source", data_source=source.id))
            previous = source
        root.append(_section(source, section, [claims.by_id[claim.id] for claim in found], mentions, links))
    return root


def checks(claims: Claims, links: Links) -> Element:
    """How each claim is checked, by document, each with the link back to its verdict."""
    root = element("div", class_="il-claims")
    for source in claims.files.sources:
        found = [item for item in claims.judged if item.claim.source == source and item.answer]
        if found:
            root.append(element("h2", source.title, id=f"checks-{source.id}"))
        for item in found:
            gist = element("p", linked(item.claim.gist, links.to_claim(item.claim.id)))
            root.append(element("div", gist, *_how(item), id=item.claim.id, class_="il-claims__check"))
    return root


def said(item: Judged) -> str:
    """What the source says, with its unit."""
    return glue(item.claim.stated.text, unit_text(item.claim.format.unit))


def within(tolerance: Tolerance) -> str:
    """`confirmed within the printed digits, refined within a factor of 1.1`."""
    confirmed = "the printed digits" if tolerance.within is None else f"a factor of {tolerance.within:g}"
    if tolerance.within == 1:
        confirmed = "no difference"
    refined = f", refined within a factor of {tolerance.band:g}" if tolerance.band else ", else contradicted"
    return f"confirmed within {confirmed}{refined}"


def _section(source: Source, name: str, items: Sequence[Judged], mentions: Mentions, links: Links) -> Element:
    """A section of a document: heading, the verdicts in it, and the table, folded away by the script."""
    slug = _slug(source, name)
    rows = [_row(item, mentions.get(item.claim.id, ()), links) for item in items]
    summary = element("summary", _tally(items))
    fold = element("details", summary, _table(name, rows), class_="il-claims__fold", open="open")
    attributes = {"class_": "il-claims__section", "data_section": slug, "data_source": source.id}
    return element("section", element("h3", name, id=slug), fold, aria_labelledby=slug, **attributes)


def _tally(items: Sequence[Judged]) -> str:
    """`3 claims: 2 confirmed, 1 contradicted`."""
    found = Counter(item.verdict for item in items)
    words = ", ".join(f"{found[verdict]} {word}" for verdict, word in VERDICTS.items() if found[verdict])
    return f"{len(items)} {'claim' if len(items) == 1 else 'claims'}: {words}"


def _slug(source: Source, section: str) -> str:
    return f"claims-{source.id}-" + re.sub(r"[^a-z0-9]+", "-", section.lower()).strip("-")


def _form(claims: Claims, groups: Sequence[tuple[Source, str, list[Claim]]]) -> Element:
    """A box for words, three selects, what they show, and a switch for the folds. Hidden until the script works."""
    counts = claims.counts()
    kinds = Counter(item.claim.check.evidence for item in claims.judged)
    verdicts = [_option(verdict, f"{word} ({counts[verdict]})") for verdict, word in VERDICTS.items()]
    evidence = [_option(kind, f"{word} ({kinds[kind]})") for kind, word in EVIDENCE.items() if kinds[kind]]
    places = [_option("", "all")]
    for source in dict.fromkeys(source for source, *_ in groups):
        mine = [(name, len(found)) for other, name, found in groups if other == source]
        options = [_option(_slug(source, name), f"{name} ({number})") for name, number in mine]
        whole = _option(source.id, f"all of {source.title} ({sum(number for _, number in mine)})")
        places.append(element("optgroup", whole, *options, label=source.title))
    return element(
        "form",
        element("label", element("span", "Words"), element("input", type="search", name="words")),
        _select("verdict", "Verdict", [_option("", "all"), *verdicts]),
        _select("section", "Section", places),
        _select("evidence", "Evidence", [_option("", "all"), *evidence]),
        element("button", "Show all", type="reset"),
        element("button", "Open all sections", type="button", aria_pressed="false"),
        element("output", f"{len(claims.judged)} of {len(claims.judged)} claims", role="status"),
        class_="il-claims__filter",
        aria_label="Filter the claims",
        hidden="hidden",
    )


def _select(name: str, label: str, options: Sequence[Element]) -> Element:
    return element("label", element("span", label), element("select", *options, name=name))


def _option(value: str, text: str) -> Element:
    return element("option", text, value=value)


def _table(caption: str, rows: Sequence[Element]) -> Element:
    """A table that becomes a list of cards on a phone; roles keep it a table for those who hear it."""
    heads = [element("th", text, scope="col", role="columnheader") for text in COLUMNS]
    head = element("thead", element("tr", *heads, role="row"), role="rowgroup")
    body = element("tbody", *rows, role="rowgroup")
    return element("table", head, body, class_="il-table il-claims__table", role="table", aria_label=caption)


def _row(item: Judged, mentions: Sequence[Mention], links: Links) -> Element:
    claim = item.claim
    lines = ", ".join(map(str, claim.lines))
    place = f"{'lines' if len(claim.lines) > 1 else 'line'} {lines}"
    anchor = element("a", place, href=f"#{claim.id}", class_="il-claims__place")
    first = element("th", element("p", claim.gist, " ", anchor), scope="row", role="rowheader")
    if item.note:
        first.append(element("p", *[_part(part, links) for part in item.note], class_="il-claims__note"))
    if item.reason:
        first.append(element("p", item.reason, class_="il-claims__note"))
    if item.answer and (href := links.to_check(claim.id)):
        first.append(element("p", element("a", HOW, href=href), class_="il-claims__used"))
    elif item.answer:
        first.append(element("details", element("summary", HOW), *_how(item)))
    if mentions:
        pages = [element("a", mention.title, href=links.to_page(mention.page)) for mention in mentions]
        spaced: list[Element | str] = ["Used in "]
        for position, page in enumerate(pages):
            spaced += [", ", page] if position else [page]
        first.append(element("p", *spaced, class_="il-claims__used"))
    says = element("td", element("span", said(item), class_="il-source"), role="cell")
    gives = element("td", _given(item, links), role="cell")
    if item.also and claim.also:
        gives.append(element("small", f"{claim.also.label}: {shown(item.also.value, claim.format)}"))
    word = element("span", VERDICTS[item.verdict], class_=f"il-verdict il-verdict--{item.verdict}")
    verdict = element("td", word, role="cell")
    data = {"data_verdict": item.verdict, "data_evidence": claim.check.evidence}
    return element("tr", first, says, gives, verdict, id=claim.id, role="row", **data)


def _given(item: Judged, links: Links) -> Element:
    answer = item.answer
    if answer is None:
        return element("span", "—", aria_label="nothing yet")
    return _number(shown(answer.value, item.claim.format), answer.origin, answer.record, links)


def _part(part: str | NoteNumber, links: Links) -> Element | str:
    return part if isinstance(part, str) else _number(part.text, part.outcome.origin, part.record, links)


def _number(text: str, origin: str, record: str, links: Links) -> Element:
    """A number with its origin. Its expression stands in the fold below: hundreds of tooltips made the page slow."""
    href = links.to_record(record) if record else links.to_reference(origin)
    return linked(text, href, class_=f"il-number il-{'measured' if record else 'computed'}")


def _how(item: Judged) -> list[Element]:
    """How the claim was checked. What an accounting counts stands once, in the claims page's list of them."""
    claim, check = item.claim, item.claim.check
    assert item.answer is not None
    assert claim.tolerance is not None
    made: list[Element] = []
    counted = f" ({check.accounting})" if check.accounting else ""
    by = f"By {_by(check.evidence)}{counted}, tolerance “{claim.tolerance.name}”: "
    if check.evidence == "cited":
        title, url, where = check.work
        made.append(element("p", by, element("a", title, href=url), f", {where}."))
    else:
        made.append(element("p", by, element("code", item.answer.exact)))
    if item.also and claim.also:
        made.append(
            element("p", f"{claim.also.label[0].upper()}{claim.also.label[1:]}: ", element("code", item.also.exact))
        )
    known = {check.asked, claim.also.check.asked if claim.also else ""}
    for part in item.note:
        if isinstance(part, NoteNumber) and part.expression not in known:
            known.add(part.expression)
            made.append(element("p", f"{part.text}: ", element("code", part.expression)))
    return made


def _by(kind: Evidence) -> str:
    words = EVIDENCE[kind]
    return words if words.startswith("the ") else f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
