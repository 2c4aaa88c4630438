"""The claims page: the summary, the list with its filter, the tolerances, and a claim's verdict inside other pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from plugins.measured.claims import Claims, Judged, NoteNumber, shown
from plugins.measured.claims_accounting import ACCOUNTINGS
from plugins.measured.claims_data import EVIDENCE, Evidence, sections
from plugins.measured.claims_verdict import VERDICTS, Tolerance, Verdict
from plugins.measured.errors import MeasuredError, suggestion
from plugins.measured.markup import Links, element
from plugins.measured.quantities import unit_text

COLUMNS = ("Claim", "Source says", "Check gives", "Verdict")
_PART = "il-claims"


@dataclass(frozen=True)
class Mention:
    """A page that speaks of a claim."""

    page: str
    title: str


Mentions = Mapping[str, Sequence[Mention]]


def block(name: str, claims: Claims, mentions: Mentions, links: Links) -> Element:
    """What `/// claims | name` becomes. Raises `MeasuredError` for another name."""
    parts: dict[str, Callable[[], Element]] = {
        "summary": lambda: _summary(claims),
        "list": lambda: _list(claims, mentions, links),
        "tolerances": lambda: _tolerances(claims),
        "accountings": _accountings,
    }
    if name not in parts:
        raise MeasuredError(f"there is no part '{name}' of the claims", suggestion(name, parts))
    return parts[name]()


def badge(name: str, claims: Claims, links: Links, *, inside_link: bool) -> Element:
    """What `{claim} name` becomes: the verdict as a link to the claim."""
    item = claims.one(name.strip())
    title = f"{item.claim.gist} The source says {_said(item)}."
    if item.answer:
        title += f" The check gives {shown(item.answer.value, item.claim.format)}."
    mark = f"il-verdict il-verdict--{item.verdict}"
    href = links.to_claim(item.claim.id)
    if inside_link or not href:
        return element("span", VERDICTS[item.verdict], class_=mark, title=title)
    return element("a", VERDICTS[item.verdict], class_=mark, href=href, title=title)


def count(name: str, claims: Claims, links: Links, *, inside_link: bool) -> Element:
    """What `{claims} confirmed` becomes: how many claims have a verdict, or `total` for all."""
    name = name.strip()
    counts = {"total": len(claims.judged)} | {str(verdict): number for verdict, number in claims.counts().items()}
    if name not in counts:
        raise MeasuredError(f"there is no verdict '{name}'", suggestion(name, counts))
    text, title = f"{counts[name]:,}", f"Counted while the site was built: claims {name}"
    href = links.to_claim("")
    if inside_link or not href:
        return element("span", text, class_="il-number", title=title)
    return element("a", text, class_="il-number", href=href, title=title)


def _summary(claims: Claims) -> Element:
    """Verdicts by document: computed counts, the total last, each a link that filters the list."""
    heads = [element("th", word.capitalize(), scope="col", class_="il-num") for word in VERDICTS.values()]
    head = element(
        "tr", element("th", "Document", scope="col"), *heads, element("th", "All", scope="col", class_="il-num")
    )
    body = element("tbody")
    for source in claims.files.sources:
        found = Counter(item.verdict for item in claims.judged if item.claim.source == source)
        if found:
            body.append(_counts(source.title, found, f"source={source.id}"))
    total = _counts("All documents", Counter(claims.counts()), "")
    total.set("class", "il-claims__total")
    body.append(total)
    caption = element("caption", "Claims by document and verdict, counted while the site was built")
    table = element("table", caption, element("thead", head), body, class_="il-table")
    attributes = {"role": "region", "tabindex": "0", "aria_label": "Claims by document and verdict"}
    return element("div", element("div", table, class_="il-measured-table__scroll", **attributes), class_=_PART)


def _counts(title: str, found: Mapping[Verdict, int], query: str) -> Element:
    row = element("tr", element("th", title, scope="row"))
    for verdict, word in VERDICTS.items():
        number = str(found.get(verdict, 0))
        address = "&".join(filter(None, (query, f"verdict={verdict}")))
        name = f"{number} {word}, {title}"
        link = element("a", number, href=f"?{address}#claims-list", aria_label=name)
        row.append(element("td", link if found.get(verdict) else number, class_="il-num"))
    row.append(element("td", str(sum(found.values())), class_="il-num"))
    return row


def _list(claims: Claims, mentions: Mentions, links: Links) -> Element:
    """Every claim, by document and section, with the filter, which the script brings to life."""
    order = {source: position for position, source in enumerate(claims.files.sources)}
    ordered = sorted(claims.judged, key=lambda item: order[item.claim.source])
    groups = list(sections([item.claim for item in ordered]))
    options = [(source.title, _slug(source.id, section), section, len(found)) for source, section, found in groups]
    root = element("il-claims", _form(claims, options), class_=_PART, id="claims-list")
    previous = None
    for source, section, found in groups:
        if source != previous:
            heading = element("h2", source.title, id=f"claims-{source.id}")
            edition = element("p", f"{source.edition} Lines are those of the copy that was read.")
            edition.set("class", "il-claims__edition")
            root.append(element("div", heading, edition, class_="il-claims__source", data_source=source.id))
            previous = source
        name = _slug(source.id, section)
        heading = element("h3", section, id=name)
        rows = [_row(claims.by_id[claim.id], mentions.get(claim.id, ()), links) for claim in found]
        root.append(
            element(
                "section",
                heading,
                _table(section, rows),
                class_="il-claims__section",
                aria_labelledby=name,
                data_section=name,
                data_source=source.id,
            )
        )
    return root


def _slug(source: str, section: str) -> str:
    return f"claims-{source}-" + re.sub(r"[^a-z0-9]+", "-", section.lower()).strip("-")


def _form(claims: Claims, groups: Sequence[tuple[str, str, str, int]]) -> Element:
    """Three selects and a line that says how many claims are shown. Hidden until the script can make them work."""
    counts = claims.counts()
    kinds = Counter(item.claim.check.evidence for item in claims.judged)
    verdicts = [_option(verdict, f"{word} ({counts[verdict]})") for verdict, word in VERDICTS.items()]
    evidence = [_option(kind, f"{word} ({kinds[kind]})") for kind, word in EVIDENCE.items() if kinds[kind]]
    places = [_option("", "all")]
    for title in dict.fromkeys(title for title, *_ in groups):
        mine = [_option(slug, f"{section} ({number})") for t, slug, section, number in groups if t == title]
        places.append(element("optgroup", *mine, label=title))
    return element(
        "form",
        _select("verdict", "Verdict", [_option("", "all"), *verdicts]),
        _select("section", "Section", places),
        _select("evidence", "Evidence", [_option("", "all"), *evidence]),
        element("button", "Show all", type="reset"),
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
    lines = ", ".join(f"{line:,}" for line in claim.lines)
    place = f"{'lines' if len(claim.lines) > 1 else 'line'} {lines}"
    anchor = element("a", place, href=f"#{claim.id}", class_="il-claims__place", title="Link to this claim")
    first = element("th", element("p", claim.gist, " ", anchor), scope="row", role="rowheader")
    if item.note:
        first.append(element("p", *[_part(part, links) for part in item.note], class_="il-claims__note"))
    if item.reason:
        first.append(element("p", item.reason, class_="il-claims__note"))
    if item.answer:
        first.append(_how(item))
    if mentions:
        pages = [element("a", mention.title, href=links.to_page(mention.page)) for mention in mentions]
        spaced: list[Element | str] = ["Used in "]
        for position, page in enumerate(pages):
            spaced += [", ", page] if position else [page]
        first.append(element("p", *spaced, class_="il-claims__used"))
    said = element("td", element("span", _said(item), class_="il-source"), role="cell", data_label=COLUMNS[1])
    gives = element("td", _given(item, links), role="cell", data_label=COLUMNS[2])
    if item.also and claim.also:
        gives.append(element("small", f"{claim.also[1]}: {shown(item.also.value, claim.format)}"))
    word = element("span", VERDICTS[item.verdict], class_=f"il-verdict il-verdict--{item.verdict}")
    verdict = element("td", word, role="cell", data_label=COLUMNS[3])
    data = {"data_verdict": item.verdict, "data_evidence": claim.check.evidence}
    return element("tr", first, said, gives, verdict, id=claim.id, role="row", **data)


def _said(item: Judged) -> str:
    unit = unit_text(item.claim.format.unit)
    return item.claim.stated.text + (unit if unit in ("", "×") else f"\u00a0{unit}")


def _given(item: Judged, links: Links) -> Element | str:
    answer = item.answer
    if answer is None:
        return element("span", "—", aria_label="nothing yet")
    text = shown(answer.value, item.claim.format)
    if answer.record:
        return element(
            "a", text, class_="il-number il-measured", href=links.to_record(answer.record), title=answer.exact
        )
    href = links.to_reference(answer.origin) if answer.origin else ""
    if href:
        return element("a", text, class_="il-number il-computed", href=href, title=answer.exact)
    return element("span", text, class_="il-number il-computed", title=answer.exact)


def _part(part: str | NoteNumber, links: Links) -> Element | str:
    if isinstance(part, str):
        return part
    href = links.to_reference(part.outcome.origin) if part.outcome.origin else ""
    attributes = {"class_": "il-number il-computed", "title": f"Computed while the site was built: {part.expression}"}
    return element("a", part.text, href=href, **attributes) if href else element("span", part.text, **attributes)


def _how(item: Judged) -> Element:
    """How the claim was checked, folded away."""
    claim, check = item.claim, item.claim.check
    assert item.answer is not None
    assert claim.tolerance is not None
    made = element("details", element("summary", "How it is checked"), class_="il-claims__how")
    made.append(element("p", f"By {_by(check.evidence)}: ", element("code", item.answer.exact)))
    if item.also and claim.also:
        made.append(element("p", f"{claim.also[1].capitalize()}: ", element("code", item.also.exact)))
    if check.accounting:
        accounting = ACCOUNTINGS[check.accounting]
        made.append(element("p", f"It counts {accounting.counts}; proved by ", element("code", accounting.proof), "."))
    made.append(element("p", f"Tolerance “{claim.tolerance.name}”: {_within(claim.tolerance)}."))
    return made


def _by(kind: Evidence) -> str:
    words = EVIDENCE[kind]
    return words if words.startswith("the ") else f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def _within(tolerance: Tolerance) -> str:
    """`confirmed within the printed digits, refined within a factor of 1.1`."""
    confirmed = "the printed digits" if tolerance.within is None else f"a factor of {tolerance.within:g}"
    if tolerance.within == 1:
        confirmed = "no difference"
    refined = f", refined within a factor of {tolerance.band:g}" if tolerance.band else ", else contradicted"
    return f"confirmed within {confirmed}{refined}"


def _tolerances(claims: Claims) -> Element:
    """The tolerances and their reasons, as a definition list."""
    made = element("dl", class_=_PART)
    used = Counter(item.claim.tolerance.name for item in claims.judged if item.claim.tolerance)
    for tolerance in claims.files.tolerances:
        made.append(element("dt", tolerance.name))
        text = f"{_within(tolerance).capitalize()}. {tolerance.because} Used by {used[tolerance.name]} claims."
        made.append(element("dd", text))
    return made


def _accountings() -> Element:
    """The accountings and the tests that prove them."""
    made = element("dl", class_=_PART)
    for name, accounting in ACCOUNTINGS.items():
        made.append(element("dt", name))
        proof = element("code", accounting.proof)
        made.append(element("dd", f"{accounting.counts[0].upper()}{accounting.counts[1:]}. Proved by ", proof, "."))
    return made
