"""The claims page: the summary, the tolerances, the accountings, and a claim's verdict inside other pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from xml.etree.ElementTree import Element

from explorable.book import current
from explorable.measured.claims.judged import Claims
from explorable.measured.claims.listing import Mentions, checks, listed, said, within
from explorable.measured.claims.verdict import VERDICTS, Verdict, shown
from explorable.measured.errors import MeasuredError
from explorable.measured.links import Links
from explorable.shared.errors import nearest
from explorable.shared.markup import element, linked, scrolled

_PART = "il-claims"


def block(name: str, claims: Claims, mentions: Mentions, links: Links) -> Element:
    """What `/// claims | name` becomes. Raises `MeasuredError` for another name."""
    parts: dict[str, Callable[[], Element]] = {
        "summary": lambda: _summary(claims),
        "list": lambda: listed(claims, mentions, links),
        "checks": lambda: checks(claims, links),
        "tolerances": lambda: _tolerances(claims),
        "accountings": _accountings,
    }
    if name not in parts:
        raise MeasuredError(f"there is no part '{name}' of the claims", nearest(name, parts))
    return parts[name]()


def badge(name: str, claims: Claims, links: Links, *, bare: bool) -> Element:
    """What `{claim} name` becomes: the verdict as a link to the claim."""
    item = claims.one(name.strip())
    title = f"{item.claim.gist} The source says {said(item)}."
    if item.answer:
        title += f" The check gives {shown(item.answer.value, item.claim.format)}."
    mark = f"il-verdict il-verdict--{item.verdict}"
    return linked(VERDICTS[item.verdict], "" if bare else links.to_claim(item.claim.id), class_=mark, title=title)


def count(name: str, claims: Claims, links: Links, *, bare: bool) -> Element:
    """What `{claims} confirmed` becomes: how many claims have a verdict, or `total` for all."""
    name = name.strip()
    counts = {"total": len(claims.judged)} | {str(verdict): number for verdict, number in claims.counts().items()}
    if name not in counts:
        raise MeasuredError(f"there is no verdict '{name}'", nearest(name, counts))
    text, title = f"{counts[name]:,}", f"Counted while the site was built: claims {name}"
    href = "" if bare else links.to_claims("" if name == "total" else name)
    return linked(text, href, class_="il-number", title=title)


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
            body.append(_counts(source.title, found, f"section={source.id}"))
    total = _counts("All documents", Counter(claims.counts()), "")
    total.set("class", "il-claims__total")
    body.append(total)
    caption = element("caption", "Claims by document and verdict, counted while the site was built")
    table = element("table", caption, element("thead", head), body, class_="il-table")
    return element("div", scrolled(table, "Claims by document and verdict"), class_=_PART)


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


def _tolerances(claims: Claims) -> Element:
    """The tolerances and their reasons, as a definition list."""
    made = element("dl", class_=_PART)
    used = Counter(item.claim.tolerance.name for item in claims.judged if item.claim.tolerance)
    for tolerance in claims.files.tolerances:
        made.append(element("dt", tolerance.name))
        text = f"{within(tolerance).capitalize()}. {tolerance.because} Used by {used[tolerance.name]} claims."
        made.append(element("dd", text))
    return made


def _accountings() -> Element:
    """The accountings and the tests that prove them."""
    made = element("dl", class_=_PART)
    for name, accounting in current().accountings.items():
        made.append(element("dt", name))
        proof = element("code", accounting.proof)
        made.append(element("dd", f"{accounting.counts[0].upper()}{accounting.counts[1:]}. Proved by ", proof, "."))
    return made
