"""Which pages speak of which claim: found in their Markdown, so that the claims page can link back."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from functools import lru_cache

from explorable.measured.claims.listing import Mention
from explorable.shared.scan import scan

_ROLES = ("claim", "checked")


def mentions(pages: Iterable[tuple[str, str]], claims_page: str) -> dict[str, list[Mention]]:
    """Claim -> pages that name it by `{claim}` or `{checked}`, or link to it, in the order of the pages.

    Args:
        pages: Source path in the docs folder and text of every page.
        claims_page: Source path of the page that lists the claims; what it says of its own claims is no mention.
    """
    found: dict[str, list[Mention]] = {}
    for page, text in pages:
        if page == claims_page:
            continue
        names, title = _named(page, text, claims_page)
        for name in names:
            found.setdefault(name, []).append(Mention(page, title))
    return found


@lru_cache(maxsize=4096)
def _named(page: str, text: str, claims_page: str) -> tuple[tuple[str, ...], str]:
    """The claims that a page names, each once, and the page's title."""
    read = scan(text)
    roles = [role.text for role in read.roles if role.name in _ROLES]
    names = [name.strip() for named in roles for name in named.split(",")]
    for target, _, anchor in (link.target.partition("#") for link in read.links):
        if target and anchor and posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) == claims_page:
            names.append(anchor)
    return tuple(dict.fromkeys(names)), read.title or read.heading or page
