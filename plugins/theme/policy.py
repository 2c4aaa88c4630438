"""The content security policy of every page: only the site's own scripts, none made from text, no call elsewhere.

GitHub Pages sends no headers of ours, so the policy stands in the page, before anything that it governs. Workers
that are started from a `blob:` address, as the one that holds Python, inherit it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence

_SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)
_EXECUTED = re.compile(r'^(?!.*\bsrc=)(?!.*\btype="application/json")', re.DOTALL)
_CHARSET = re.compile(r'<meta charset="utf-8">', re.IGNORECASE)


def with_policy(html: str, hosts: Sequence[str] = ()) -> str:
    """The page with its policy.

    Args:
        html: a whole page.
        hosts: where packages lie that the site does not have itself, and that readers may agree to fetch.
    """
    hashes = [_hash(found["text"]) for found in _SCRIPT.finditer(html) if _EXECUTED.match(found["attributes"])]
    directives = {
        "default-src": ["'self'"],
        # WebAssembly may be compiled; text may not be run as a script.
        "script-src": ["'self'", "'wasm-unsafe-eval'", *dict.fromkeys(hashes)],
        # Charts, figures and the editor set styles on their elements.
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:"],
        # `blob:` is what the page itself made, such as the ledger's file.
        "connect-src": ["'self'", "blob:", *hosts],
        "worker-src": ["'self'", "blob:"],
        "frame-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
    }
    content = "; ".join(" ".join([name, *sources]) for name, sources in directives.items())
    meta = f'<meta http-equiv="Content-Security-Policy" content="{content}">'
    return _CHARSET.sub(lambda found: found[0] + meta, html, count=1)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
