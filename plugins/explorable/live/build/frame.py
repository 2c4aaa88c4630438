"""A result that is HTML, as a document for a frame in which nothing runs and that loads nothing.

The page has the frame without scripts, and the document its own policy. What readers run themselves becomes a document
in the page, by `web/src/snippet/sanitize.ts`: there the program is not the author's.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

MOST_EM = 24
"""The height of the region in which results scroll."""

_AROUND = Path(__file__).parents[1] / "web/src/snippet/frame.json"
"""What stands before and after the HTML, for the build and for the page, which sets the colors anew."""
_LEADS_AWAY = re.compile(r"<(?=/?(?:base|embed|form|frame|iframe|link|meta|object|portal|script)\b)", re.IGNORECASE)
"""Elements that bring a browser to speak with another host before it looks at a policy, or that run something."""


def document(html: str) -> str:
    """The HTML as a document of its own. Elements that are not for results stand in it as text."""
    before, after = _around()
    return before + _LEADS_AWAY.sub("&lt;", html) + after


def height_em(html: str) -> int:
    """About how high the HTML is, for a page that cannot measure it: by the rows of its tables."""
    rows = len(re.findall(r"<tr\b", html, re.IGNORECASE))
    return min(MOST_EM, 2 * rows + 1) if rows else MOST_EM // 2


@cache
def _around() -> tuple[str, str]:
    around = json.loads(_AROUND.read_text(encoding="utf-8"))
    return "".join(around["before"]), around["after"]
