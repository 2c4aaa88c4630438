"""The list of what the book consists of, for readers who keep it in their browser: `Contents` in book.ts."""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import quote

from explorable.shared.sums import digest, json_text

CONTENTS = "offline.json"
LEFT_OUT = (
    CONTENTS,
    "sw.js",
    # A deploy adds to it what earlier releases need.
    "assets/live/release.json",
    "sitemap.xml",
    "sitemap.xml.gz",
)
"""What says how the site is now, or is for search engines."""
LANGUAGES = "assets/javascripts/lunr/"
"""The theme's word stems of other languages."""


def write(site: Path) -> None:
    """Write the list for a built site: for each file its bytes and the first 16 digits of its SHA-256."""
    files = {}
    for path in sorted(site.rglob("*")):
        name = path.relative_to(site).as_posix()
        if path.is_file() and name not in LEFT_OUT and path.suffix != ".map" and not name.startswith(LANGUAGES):
            content = path.read_bytes()
            files[quote(name)] = [len(content), hashlib.sha256(content).hexdigest()[:16]]
    contents = {"release": digest(json_text(files))[:12], "files": files}
    (site / CONTENTS).write_text(json_text(contents), encoding="utf-8")
