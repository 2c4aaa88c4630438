"""The content security policy of every page: only the site's own scripts, none made from text, no call elsewhere.

GitHub Pages sends no headers of ours, so the policy stands in the page, before anything that it governs. Workers
that are started from a `blob:` address, as the one that holds Python, inherit it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_CHARSET = re.compile(r'<meta charset="utf-8">', re.IGNORECASE)


def with_policy(html: str, hashes: Iterable[str] = (), folders: Sequence[str] = ()) -> str:
    """The page with its policy.

    Args:
        html: a whole page.
        hashes: of the scripts that stand in it and may run.
        folders: of other hosts, where packages lie that the site does not have and that readers may agree to fetch.
    """
    directives = {
        "default-src": ["'self'"],
        # WebAssembly may be compiled; text may not be run as a script.
        "script-src": ["'self'", "'wasm-unsafe-eval'", *(f"'sha256-{one}'" for one in dict.fromkeys(hashes))],
        # Charts, figures and the editor set styles on their elements.
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:"],
        # `blob:` is what the page itself made, such as the ledger's file.
        "connect-src": ["'self'", "blob:", *folders],
        "worker-src": ["'self'", "blob:"],
        "frame-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
    }
    content = "; ".join(" ".join([name, *sources]) for name, sources in directives.items())
    meta = f'<meta http-equiv="Content-Security-Policy" content="{content}">'
    return _CHARSET.sub(lambda found: found[0] + meta, html, count=1)
