"""A last value that shows itself as HTML, as a table of pandas does: a document for a frame in which nothing runs.

The page puts it into a sandboxed frame without scripts. The document's own policy lets it load nothing, so that a
value cannot ask any address for anything.
"""

from __future__ import annotations

import re

SIZE_LIMIT = 200_000
"""Characters of HTML; a value with more is shown as its `repr`."""
MOST_EM = 24
"""The height of the region in which results scroll."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'"
_LEADS_AWAY = re.compile(r"<(?=/?(?:base|embed|form|frame|iframe|link|meta|object|portal|script)\b)", re.IGNORECASE)
"""Elements that bring a browser to speak with another host before it looks at a policy, or that run something."""
# The page sets the colors anew, with those of its light or dark scheme.
_STYLE = """\
:root{--fg:#1f2328;--muted:#595f69;--border:#d9d3c7;--surface:#f4f1ea;--font:system-ui,sans-serif;--size:15px}
body{background:transparent;color:var(--fg);font:var(--size)/1.5 var(--font);margin:4px 0}
table{border-collapse:collapse;font-variant-numeric:lining-nums tabular-nums}
th,td{border:0;border-bottom:1px solid var(--border);padding:.2em .7em;text-align:right}
thead th{border-bottom-color:var(--muted)}
a{color:inherit}"""


def of_value(value: object) -> str | None:
    """The value's document, if it has `_repr_html_`, as notebooks ask for, and that gives HTML of a sensible size."""
    show = None if isinstance(value, type) else getattr(value, "_repr_html_", None)
    html = show() if callable(show) else None
    return document(html) if isinstance(html, str) and len(html) <= SIZE_LIMIT else None


def document(html: str) -> str:
    """The HTML as a document of its own. Elements that are not for results stand in it as text."""
    html = _LEADS_AWAY.sub("&lt;", html)
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    head += '<meta http-equiv="x-dns-prefetch-control" content="off">'
    return f'<!doctype html><html lang="en"><head>{head}<style>{_STYLE}</style></head><body>{html}</body></html>'


def height_em(document_html: str) -> int:
    """About how high the document is, for a page that cannot measure it: by the rows of its tables."""
    rows = len(re.findall(r"<tr\b", document_html, re.IGNORECASE))
    return min(MOST_EM, 2 * rows + 1) if rows else MOST_EM // 2
