"""Which pages speak of which claim: found in their Markdown, so that the claims page can link back."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from explorable.measured.claims.listing import Mention
from explorable.shared.scan import scan

_ROLES = ("claim", "checked")
_LINK = re.compile(r"\]\(([^)\s#]+)#([a-z0-9-]+)\)")
_TITLE = re.compile(r"^title:\s*[\"']?(.+?)[\"']?\s*$|^#\s+(.+?)(?:\s*\{.*\})?\s*$", re.MULTILINE)


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
        roles = [role.text for role in scan(text).roles if role.name in _ROLES]
        names = [name.strip() for named in roles for name in named.split(",")]
        for target, anchor in _LINK.findall(text):
            if posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) == claims_page:
                names.append(anchor)
        for name in dict.fromkeys(names):
            found.setdefault(name, []).append(Mention(page, _title(text) or page))
    return found


def _title(text: str) -> str:
    match = _TITLE.search(text)
    return (match[1] or match[2]) if match else ""
